# Debian's LibTorch is linked with OpenCV and FFmpeg but does not use them. They depend on 170 more
# libraries, which would be loaded at every start of the program. If the loader's own check (`ldd
# -u`) confirms that OpenCV and FFmpeg are not used, the executable `target` loads empty libraries
# of the same names instead. The empty libraries are in the directory `empty_libraries` next to the
# executable, which other programs do not search.
function(make_empty_libraries target)
  if(NOT TARGET torch_cpu)
    return()
  endif()
  get_target_property(configuration torch_cpu IMPORTED_CONFIGURATIONS)
  get_target_property(torch torch_cpu IMPORTED_LOCATION_${configuration})
  if(NOT LDD OR NOT EXISTS "${torch}")
    return()
  endif()
  execute_process(COMMAND ${LDD} -u ${torch} OUTPUT_VARIABLE unused ERROR_QUIET)
  string(REGEX MATCHALL "(libopencv_[a-z0-9]+|libav[a-z]+|libsw[a-z]+)\\.so\\.[0-9]+" unused
    "${unused}")
  if(NOT unused)
    return()
  endif()
  set(directory ${PROJECT_BINARY_DIR}/libexec/empty_libraries)
  file(WRITE ${directory}/empty.c "")
  foreach(name IN LISTS unused)
    add_library(${name} SHARED ${directory}/empty.c)
    set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX "" UNITY_BUILD OFF
      LIBRARY_OUTPUT_DIRECTORY ${directory})
    target_link_options(${name} PRIVATE -nostdlib)
    add_dependencies(${target} ${name})
  endforeach()
  install(TARGETS ${unused} COMPONENT program
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rl_training/empty_libraries)
endfunction()

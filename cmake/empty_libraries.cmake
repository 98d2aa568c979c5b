# Debian's LibTorch asks for OpenCV and FFmpeg and uses nothing of them; they bring 170 more
# libraries, which every command would load. Where the loader's own check (`ldd -u`) says that they
# are not used, the program finds empty libraries of these names first.
function(use_empty_libraries target)
  get_target_property(configuration torch_cpu IMPORTED_CONFIGURATIONS)
  get_target_property(torch torch_cpu IMPORTED_LOCATION_${configuration})
  find_program(LDD ldd)
  if(NOT LDD OR NOT EXISTS "${torch}")
    return()
  endif()
  execute_process(COMMAND ${LDD} -u ${torch} OUTPUT_VARIABLE unused ERROR_QUIET)
  string(REGEX MATCHALL "(libopencv_[a-z0-9]+|libav[a-z]+|libsw[a-z]+)\\.so\\.[0-9]+" unused
    "${unused}")
  if(NOT unused)
    return()
  endif()
  set(directory ${PROJECT_BINARY_DIR}/empty_libraries)
  file(WRITE ${directory}/empty.c "")
  foreach(name IN LISTS unused)
    add_library(${name} SHARED ${directory}/empty.c)
    set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX "" UNITY_BUILD OFF
      LIBRARY_OUTPUT_DIRECTORY ${directory})
    target_link_options(${name} PRIVATE -nostdlib)
    add_dependencies(${target} ${name})
  endforeach()
  install(TARGETS ${unused} DESTINATION ${CMAKE_INSTALL_LIBDIR}/rl_training COMPONENT program)
  # An RPATH counts for what libraries ask for, a RUNPATH only for what the program itself does.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH_USE_LINK_PATH ON
    INSTALL_RPATH "$ORIGIN/empty_libraries;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/rl_training")
endfunction()

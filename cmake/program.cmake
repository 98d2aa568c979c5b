# The program consists of two executables. `rl_training` does not load LibTorch and starts
# immediately. For work with tensors, it executes libexec/rl_training/rl_training, which contains
# everything (cli/tensor_commands.h). Both are linked from the same libraries.
function(add_program target)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME rl_training)
  target_link_libraries(${target} PRIVATE rl_training_flags)
endfunction()

# LibTorch comes first, so that the dynamic linker finds its many symbols quickly at every start.
set(TENSOR_PROGRAM_LIBRARIES ${TORCH_LIBRARIES} rl_training_program)

if(RL_TRAINING_SANITIZE)
  # With sanitizers, the linker cannot drop unused variables and the functions that they refer to,
  # so there is only one executable.
  add_program(rl_training_cli cli/tensor_main.cpp)
  target_link_libraries(rl_training_cli PRIVATE ${TENSOR_PROGRAM_LIBRARIES})
  return()
endif()

add_program(rl_training_tensors cli/tensor_main.cpp)
target_link_libraries(rl_training_tensors PRIVATE ${TENSOR_PROGRAM_LIBRARIES})
set_target_properties(rl_training_tensors PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/libexec
  INSTALL_RPATH "$ORIGIN/empty_libraries;$ORIGIN/libraries;${TORCH_RPATH}")
find_program(LDD ldd)
include(cmake/empty_libraries.cmake)
make_empty_libraries(rl_training_tensors)
install(TARGETS rl_training_tensors COMPONENT program
  RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rl_training)

# The linker drops all functions that cannot be reached from `main`. No function that calls LibTorch
# may be reachable. If a subcommand reaches such a function, the linker reports `undefined reference
# to at::...` in the calling function. The subcommand must then use `tensor_commands`.
add_program(rl_training_cli cli/main.cpp)
target_link_libraries(rl_training_cli PRIVATE $<TARGET_FILE:rl_training_program>
  $<TARGET_FILE:rl_training> rl_training_base yaml-cpp)
target_link_options(rl_training_cli PRIVATE -Wl,--gc-sections)
set_target_properties(rl_training_cli PROPERTIES
  INSTALL_RPATH "$ORIGIN/${LIBEXEC_FROM_BIN}/libraries")
add_dependencies(rl_training_cli rl_training_program rl_training rl_training_tensors)
install(TARGETS rl_training_cli COMPONENT program)

# Search the libraries of a tarball first (scripts/make_tarball.sh). This needs an RPATH, which also
# applies to the dependencies of libraries. A RUNPATH, the default, applies only to the direct
# dependencies of the program.
foreach(target rl_training_tensors rl_training_cli)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH_USE_LINK_PATH ON)
endforeach()

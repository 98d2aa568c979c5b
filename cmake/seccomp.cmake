# Adds the system call filter of dataset readers if libseccomp is installed. Otherwise readers have
# only their other limits, and `doctor` reports that the filter is missing.
find_library(SECCOMP_LIBRARY seccomp)
find_path(SECCOMP_INCLUDE_DIR seccomp.h)
if(SECCOMP_LIBRARY AND SECCOMP_INCLUDE_DIR)
  message(STATUS "libseccomp: ${SECCOMP_LIBRARY}")
  target_compile_definitions(rl_training_base PRIVATE RL_TRAINING_SECCOMP)
  target_include_directories(rl_training_base SYSTEM PRIVATE ${SECCOMP_INCLUDE_DIR})
  get_filename_component(SECCOMP_LIBRARY_DIR ${SECCOMP_LIBRARY} DIRECTORY)
  target_link_directories(rl_training_base PUBLIC $<BUILD_INTERFACE:${SECCOMP_LIBRARY_DIR}>)
  target_link_libraries(rl_training_base PRIVATE seccomp)
else()
  message(STATUS "libseccomp not found: readers are not filtered (Debian: libseccomp-dev)")
endif()

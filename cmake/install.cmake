# `cmake --install` installs a CMake package: find_package(rl_training) provides
# rl_training::rl_training, and rl_training::program with the command line.
set_target_properties(rl_training_base PROPERTIES EXPORT_NAME base)
set_target_properties(rl_training_program PROPERTIES EXPORT_NAME program)
set_target_properties(rl_training_messages PROPERTIES EXPORT_NAME messages)
install(TARGETS rl_training rl_training_base rl_training_messages rl_training_program
  EXPORT rl_training_targets COMPONENT development)
install(DIRECTORY rl_training/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rl_training
  COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/rl_training/configs
  COMPONENT program)
install(EXPORT rl_training_targets FILE rl_training-targets.cmake NAMESPACE rl_training::
  COMPONENT development
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rl_training)
configure_package_config_file(cmake/rl_training-config.cmake.in rl_training-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rl_training)
write_basic_package_version_file(rl_training-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rl_training-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/rl_training-config-version.cmake
  COMPONENT development DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rl_training)

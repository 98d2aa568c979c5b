# Man pages and shell completion, made by the program that they describe.
set(SHARE_DIR ${CMAKE_CURRENT_BINARY_DIR}/share)
add_custom_command(TARGET rl_training_cli POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E make_directory ${SHARE_DIR}/completions
  COMMAND rl_training_cli reference man --output ${SHARE_DIR}/man1
  COMMAND rl_training_cli completion bash > ${SHARE_DIR}/completions/rl_training
  COMMAND rl_training_cli completion zsh > ${SHARE_DIR}/completions/_rl_training
  VERBATIM)
install(DIRECTORY ${SHARE_DIR}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${SHARE_DIR}/completions/rl_training COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${SHARE_DIR}/completions/_rl_training COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES README.md CHANGELOG.md LICENSE COMPONENT program DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(PROGRAMS scripts/demo.sh COMPONENT program DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Debian packages by `make package`: the program, what other C++ programs link, the Python package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rl-training)
set(CPACK_PACKAGE_CONTACT "rl_training contributors <maintainers@rl-training.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "Trains reinforcement-learning agents from logged data, environments, or both")
set(CPACK_PACKAGE_DESCRIPTION
  "A native trainer for offline, offline-to-online and online reinforcement learning: D4RL, Minari,\
 robomimic, npz and csv data in, a policy out; exact resume, evaluation without a simulator, export\
 to C and ONNX.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME rl-training)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# LibTorch calls BLAS through the alternatives of libblas.so.3.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "libopenblas0-pthread, libosmesa6, gcc")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librl-training-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtorch-dev, libdnnl-dev, libyaml-cpp-dev,\
 nlohmann-json3-dev, libfmt-dev, libprotobuf-dev, libzip-dev, zlib1g-dev, libdeflate-dev, libssl-dev,\
 libhdf5-dev, libmujoco-dev, libbox2d-dev, libcairo2-dev, libgif-dev, libseccomp-dev")
if(TARGET rl_training_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-rl-training)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, python3-numpy")
endif()
include(CPack)

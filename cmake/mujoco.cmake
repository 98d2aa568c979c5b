# Adds the MuJoCo tasks to rl_training_base if version 2.2 or 2.3 of the library is installed.
# Otherwise the tasks are listed as unavailable. Debian's mujoco-config.cmake is not used: it needs
# the headers of libqhull, but Debian's MuJoCo package does not install them as a dependency.
find_library(MUJOCO_LIBRARY mujoco)
find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h)
set(MUJOCO_VERSION 0)
if(MUJOCO_LIBRARY AND MUJOCO_INCLUDE_DIR)
  file(STRINGS ${MUJOCO_INCLUDE_DIR}/mujoco/mujoco.h MUJOCO_VERSION REGEX "mjVERSION_HEADER [0-9]+")
  string(REGEX REPLACE "[^0-9]" "" MUJOCO_VERSION "${MUJOCO_VERSION}")
endif()

# Version 3 loads embedded models in another way. It also solves contacts differently, so the
# recorded episodes of the tests would not match.
if(MUJOCO_VERSION GREATER_EQUAL 220 AND MUJOCO_VERSION LESS 300)
  message(STATUS "MuJoCo ${MUJOCO_VERSION}: ${MUJOCO_LIBRARY}")
  set(RL_TRAINING_HAS_MUJOCO ON)
  set(MODEL_DIR rl_training/envs/mujoco/models)
  file(GLOB MODEL_FILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${MODEL_DIR}/*.xml)
  set(MUJOCO_MODELS "")
  foreach(file IN LISTS MODEL_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    get_filename_component(name ${file} NAME_WE)
    string(APPEND MUJOCO_MODELS "  if (name == \"${name}\") return R\"xml(${text})xml\";\n")
  endforeach()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/mujoco_models.cpp.in
    ${CMAKE_CURRENT_BINARY_DIR}/generated/mujoco_models.cpp @ONLY)

  file(GLOB MUJOCO_SOURCES CONFIGURE_DEPENDS rl_training/envs/mujoco/*.cpp)
  target_sources(rl_training_base PRIVATE ${MUJOCO_SOURCES}
    ${CMAKE_CURRENT_BINARY_DIR}/generated/mujoco_models.cpp)
  target_compile_definitions(rl_training_base PRIVATE RL_TRAINING_MUJOCO)
  target_include_directories(rl_training_base SYSTEM PRIVATE ${MUJOCO_INCLUDE_DIR})
  get_filename_component(MUJOCO_LIBRARY_DIR ${MUJOCO_LIBRARY} DIRECTORY)
  target_link_directories(rl_training_base PUBLIC $<BUILD_INTERFACE:${MUJOCO_LIBRARY_DIR}>)
  target_link_libraries(rl_training_base PRIVATE mujoco)
else()
  message(STATUS "MuJoCo 2.2 or 2.3 not found: its tasks are left out (Debian: libmujoco-dev)")
endif()

# Adds the Box2D tasks to rl_training_base if version 2.4 of the library is installed. Otherwise the
# tasks are listed as unavailable. Version 2.3 has different headers, and version 3 has a different
# interface.
find_library(BOX2D_LIBRARY box2d)
find_path(BOX2D_INCLUDE_DIR box2d/b2_world.h)
if(BOX2D_LIBRARY AND BOX2D_INCLUDE_DIR)
  message(STATUS "Box2D: ${BOX2D_LIBRARY}")
  file(GLOB BOX2D_SOURCES CONFIGURE_DEPENDS rl_training/envs/box2d/*.cpp)
  target_sources(rl_training_base PRIVATE ${BOX2D_SOURCES})
  target_compile_definitions(rl_training_base PRIVATE RL_TRAINING_BOX2D)
  target_include_directories(rl_training_base SYSTEM PRIVATE ${BOX2D_INCLUDE_DIR})
  get_filename_component(BOX2D_LIBRARY_DIR ${BOX2D_LIBRARY} DIRECTORY)
  target_link_directories(rl_training_base PUBLIC $<BUILD_INTERFACE:${BOX2D_LIBRARY_DIR}>)
  target_link_libraries(rl_training_base PRIVATE box2d)
else()
  message(STATUS "Box2D 2.4 not found: its tasks are left out (Debian: libbox2d-dev)")
endif()

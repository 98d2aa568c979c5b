# Adds the rendering of episodes to rl_training_base if Cairo and giflib are installed. Otherwise
# `rl_training render` reports why it cannot draw.
find_library(CAIRO_LIBRARY cairo)
find_path(CAIRO_INCLUDE_DIR cairo.h PATH_SUFFIXES cairo)
find_library(GIF_LIBRARY gif)
find_path(GIF_INCLUDE_DIR gif_lib.h)
if(CAIRO_LIBRARY AND CAIRO_INCLUDE_DIR AND GIF_LIBRARY AND GIF_INCLUDE_DIR)
  message(STATUS "Drawing: ${CAIRO_LIBRARY} ${GIF_LIBRARY}")
  file(GLOB RENDER_SOURCES CONFIGURE_DEPENDS rl_training/render/cairo/*.cpp)
  target_sources(rl_training_base PRIVATE ${RENDER_SOURCES})
  set_source_files_properties(rl_training/render/film.cpp rl_training/render/chart.cpp PROPERTIES
    COMPILE_DEFINITIONS RL_TRAINING_RENDER)
  set_source_files_properties(${RENDER_SOURCES} PROPERTIES
    INCLUDE_DIRECTORIES ${CAIRO_INCLUDE_DIR})
  target_include_directories(rl_training_base SYSTEM PRIVATE ${GIF_INCLUDE_DIR})
  foreach(library IN ITEMS ${CAIRO_LIBRARY} ${GIF_LIBRARY})
    get_filename_component(directory ${library} DIRECTORY)
    target_link_directories(rl_training_base PUBLIC $<BUILD_INTERFACE:${directory}>)
  endforeach()
  target_link_libraries(rl_training_base PRIVATE cairo gif)
else()
  message(STATUS "Cairo or giflib not found: no drawing (Debian: libcairo2-dev libgif-dev)")
endif()

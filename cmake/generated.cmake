# Fills GENERATED_SOURCES with sources generated at configure or build time.
file(MAKE_DIRECTORY ${GENERATED_DIR})
set(GENERATED_SOURCES)

# Embeds each file configs/<algo>/<task>.yaml as a raw string literal under the name <algo>/<task>.
file(GLOB_RECURSE CONFIG_FILES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/configs
  ${CMAKE_CURRENT_SOURCE_DIR}/configs/*.yaml)
list(SORT CONFIG_FILES)
set(PACKAGED_CONFIGS "")
foreach(file IN LISTS CONFIG_FILES)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS configs/${file})
  file(READ configs/${file} text)
  string(REGEX REPLACE "\\.yaml$" "" name ${file})
  string(APPEND PACKAGED_CONFIGS "    {\"${name}\", R\"yaml(${text})yaml\"},\n")
endforeach()
configure_file(cmake/packaged_configs.cpp.in ${GENERATED_DIR}/packaged_configs.cpp @ONLY)
list(APPEND GENERATED_SOURCES ${GENERATED_DIR}/packaged_configs.cpp)

# Version and commit, for metadata.json and --version.
execute_process(COMMAND git -C ${CMAKE_CURRENT_SOURCE_DIR} describe --always --dirty --abbrev=12
  OUTPUT_VARIABLE GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT GIT_COMMIT)
  set(GIT_COMMIT unknown)
endif()
file(RELATIVE_PATH LIBEXEC_FROM_BIN ${CMAKE_INSTALL_FULL_BINDIR}
  ${CMAKE_INSTALL_FULL_LIBEXECDIR}/rl_training)
configure_file(cmake/build_info.h.in ${GENERATED_DIR}/build_info.h @ONLY)

protobuf_generate_cpp(PROTO_SOURCES PROTO_HEADERS rl_training/experiment/tensorboard_event.proto
  rl_training/deploy/onnx_model.proto)
# The messages are a separate library, because they register themselves at every start of a program
# that contains them, which takes time. The generated sources define identical internal names, so
# they cannot be combined in a unity build.
add_library(rl_training_messages STATIC ${PROTO_SOURCES} ${PROTO_HEADERS})
set_target_properties(rl_training_messages PROPERTIES UNITY_BUILD OFF)
target_link_libraries(rl_training_messages PUBLIC protobuf::libprotobuf)
include(cmake/report_page.cmake)

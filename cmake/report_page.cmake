# Embeds the style and script of HTML reports, and dygraphs if it is installed. Without dygraphs,
# reports show their curves as pictures. Adds a source to GENERATED_SOURCES.
find_file(DYGRAPHS_SCRIPT dygraph.min.js PATHS /usr/share/javascript PATH_SUFFIXES dygraphs)
find_file(DYGRAPHS_STYLE dygraph.min.css PATHS /usr/share/javascript PATH_SUFFIXES dygraphs)
if(DYGRAPHS_SCRIPT AND DYGRAPHS_STYLE)
  message(STATUS "Interactive curves: ${DYGRAPHS_SCRIPT}")
else()
  message(STATUS "dygraphs not found: reports have still curves (Debian: libjs-dygraphs)")
endif()

# Adds a C++ function that returns the text of a file, or "" if no file is given.
function(add_page_asset name file)
  set(text "")
  if(file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    # Remove the reference to the source map, which browsers' developer tools would try to load.
    string(REGEX REPLACE "/[/*]# sourceMappingURL[^\n]*" "" text "${text}")
  endif()
  set(PAGE_ASSETS "${PAGE_ASSETS}std::string_view ${name}() {\n  return R\"asset(${text})asset\";\n}\n"
    PARENT_SCOPE)
endfunction()

set(PAGE_ASSETS "")
add_page_asset(page_style ${CMAKE_CURRENT_SOURCE_DIR}/rl_training/report/page/report.css)
add_page_asset(page_script ${CMAKE_CURRENT_SOURCE_DIR}/rl_training/report/page/report.js)
if(DYGRAPHS_SCRIPT AND DYGRAPHS_STYLE)
  add_page_asset(chart_script ${DYGRAPHS_SCRIPT})
  add_page_asset(chart_style ${DYGRAPHS_STYLE})
else()
  add_page_asset(chart_script "")
  add_page_asset(chart_style "")
endif()
configure_file(cmake/page_assets.cpp.in ${GENERATED_DIR}/page_assets.cpp @ONLY)
list(APPEND GENERATED_SOURCES ${GENERATED_DIR}/page_assets.cpp)

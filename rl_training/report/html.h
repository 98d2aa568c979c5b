#pragma once
#include <map>
#include <string>

#include "rl_training/report/groups.h"

namespace rl_training {

// Settings and additional content of a page.
struct PageOptions {
  std::string program = "rl_training";       // name of the program in printed commands
  std::string made_at = "";                  // time to display; "": omitted
  int reload_seconds = 0;                    // interval at which the page reloads; 0: never
  std::map<size_t, std::string> films = {};  // GIF of an episode, by task index
};

// A self-contained HTML file with all statistics, curves, configs and commands of a report. Its
// Content-Security-Policy forbids all network requests.
std::string report_html(const Report& report, const PageOptions& options);

// Wraps a body in a page with the script and style of reports.
std::string html_document(const std::string& title, const std::string& body,
                          const std::string& data_json, const PageOptions& options);

// Escapes text for HTML, inside or outside quotes, and control characters as `printable` does.
std::string html_escaped(std::string_view text);
std::string base64(std::string_view bytes);

}  // namespace rl_training

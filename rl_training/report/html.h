#pragma once
#include <map>
#include <string>

#include "rl_training/report/groups.h"

namespace rl_training {

// Text of a page besides the tables and charts.
struct PageOptions {
  std::string program = "rl_training";       // as typed: what printed commands begin with
  std::string made_at = "";                  // a time for the reader; "": left out
  int reload_seconds = 0;                    // of a page that is being rewritten; 0: never
  std::map<size_t, std::string> films = {};  // GIF bytes of an episode, by the number of the task
};

// One HTML file with all figures, curves, configs and commands of a report: it opens from disk and
// its Content-Security-Policy forbids any request.
std::string report_html(const Report& report, const PageOptions& options);

// A page with the script and style of reports around a body.
std::string html_document(const std::string& title, const std::string& body,
                          const std::string& data_json, const PageOptions& options);

// Text for HTML, inside or outside of quotes; control characters become "?".
std::string html_escaped(std::string_view text);
std::string base64(std::string_view bytes);

}  // namespace rl_training

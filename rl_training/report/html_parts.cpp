#include "rl_training/report/html_parts.h"

#include <fmt/format.h>

#include "rl_training/report/html.h"

namespace rl_training {

std::string cell_html(const std::string& html, const char* kind) {
  const auto attribute = *kind == '\0' ? std::string() : fmt::format(" class=\"{}\"", kind);
  return "<td" + attribute + ">" + html + "</td>";
}

std::string number_cell(const std::string& text, const std::optional<double>& value) {
  const auto sorted = value ? fmt::format(" data-v=\"{}\"", *value) : " data-v=\"-1e308\"";
  return "<td class=\"number\"" + sorted + ">" + html_escaped(text) + "</td>";
}

std::string header_html(const std::vector<Heading>& headings) {
  std::string row = "<thead><tr>";
  for (const auto& heading : headings) {
    row += heading.number ? "<th class=\"number\">" : "<th>";
    row += html_escaped(heading.title) + "</th>";
  }
  return row + "</tr></thead>";
}

std::string swatch(size_t group) {
  return fmt::format("<span class=\"swatch c{}\"></span>", group % kPageColors);
}

}  // namespace rl_training

#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "rl_training/report/tables.h"
#include "rl_training/util/text.h"

namespace rl_training {

void print(const std::string& text) {
  const auto shown = printable(text, /*keep_newlines=*/true);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

void print_json(const Json& value) {
  print(value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n");
}

// Does not use fmt::print, which throws if stderr is closed.
void print_note(const std::string& line) {
  const auto shown = printable(line) + "\n";
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void print_error(const Error& error, bool json) {
  print_note(fmt::format("error: {}", error.what()));
  if (!json) return;
  const auto& place = error.place();
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  print_json({{"error",
               {{"code", error_kind_name(error.kind())},
                {"file", text(place.file)},
                {"line", place.line > 0 ? Json(place.line) : Json()},
                {"key", text(place.key)},
                {"message", error.message()}}}});
}

bool stdout_is_good() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& header) {
  auto all = rows;
  for (auto& row : all) {
    for (auto& cell : row) cell = printable(cell);
  }
  if (!header.empty()) {
    std::vector<std::string> rule;
    rule.reserve(header.size());
    for (const auto& name : header) rule.emplace_back(name.size(), '-');
    all.insert(all.begin(), {header, rule});
  }
  std::vector<size_t> widths;
  for (const auto& row : all) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : all) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped_table(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<std::string>& header) {
  constexpr size_t kLeastWidth = 24;
  size_t left = 0;
  const size_t columns = rows.empty() ? 0 : rows.front().size();
  for (size_t i = 0; i + 1 < columns; ++i) {
    size_t widest = header.empty() ? 0 : header[i].size();
    for (const auto& row : rows) widest = std::max(widest, printable(row[i]).size());
    left += widest + 2;
  }
  const size_t available = std::max(kLeastWidth, text_width() - std::min(text_width(), left));
  std::vector<std::vector<std::string>> lines;
  for (const auto& row : rows) {
    std::istringstream parts(wrapped_text(printable(row.back()), available));
    auto line = row;
    line.back().clear();
    std::getline(parts, line.back());
    lines.push_back(line);
    for (std::string part; std::getline(parts, part);) {
      lines.emplace_back(columns);
      lines.back().back() = part;
    }
  }
  return text_table(lines, header);
}

size_t text_width() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string mean_and_std(const Json& metrics, const std::string& mean, const std::string& std_dev) {
  const auto number = [&](const std::string& key) {
    const auto found = metrics.find(key);
    return found != metrics.end() && found->is_number()
               ? fmt::format("{:.1f}", found->get<double>())
               : std::string();
  };
  const auto center = number(mean);
  return center.empty() ? "-" : center + " +- " + number(std_dev);
}

}  // namespace rl_training

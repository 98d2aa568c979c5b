#include "rl_training/experiment/metric_log.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::string to_line(const Json& row) {
  return row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";  // spellings that pandas reads
  }
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void check_columns(const std::vector<std::string>& columns) {
  for (const auto& column : columns) {
    if (column.empty() || column.find_first_of(",\"\r\n") != std::string::npos) {
      throw Error(ErrorKind::internal, {"metrics.csv", 0, column}, "not a plain column name");
    }
  }
}

}  // namespace

MetricLog::MetricLog(const std::string& run_path, std::vector<std::string> columns)
    : columns_(std::move(columns)),
      jsonl_(run_path + "/metrics.jsonl"),
      csv_(run_path + "/metrics.csv") {
  check_columns(columns_);
}

void MetricLog::write(const Json& row) {
  for (const auto& [key, value] : row.items()) {
    if (value.is_structured()) {
      throw Error(ErrorKind::internal, {jsonl_.path(), 0, key}, "a row must be flat");
    }
  }
  const std::string line = to_line(row);
  std::string cells = csv_row(row);
  if (csv_bytes_ == 0) cells = join(columns_, ",") + "\n" + cells;
  // The stored lengths advance only after both files are written. If a write fails, the next row
  // therefore replaces the failed row in both files.
  jsonl_.append(static_cast<uint64_t>(jsonl_bytes_), line);
  try {
    csv_.append(static_cast<uint64_t>(csv_bytes_), cells);
  } catch (const Error&) {
    jsonl_.cut(static_cast<uint64_t>(jsonl_bytes_));
    throw;
  }
  jsonl_bytes_ += static_cast<int64_t>(line.size());
  csv_bytes_ += static_cast<int64_t>(cells.size());
}

std::string MetricLog::csv_row(const Json& row) const {
  std::string text;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) text += ",";
    const auto found = row.find(columns_[i]);
    if (found != row.end()) text += csv_cell(*found);
  }
  return text + "\n";
}

void MetricLog::flush() {
  jsonl_.sync();
  csv_.sync();
}

void MetricLog::visit_state(StateVisitor& state) {
  flush();  // a checkpoint must not count bytes that a power cut could still lose
  state.scalar("jsonl_bytes", jsonl_bytes_);
  state.scalar("csv_bytes", csv_bytes_);
}

void MetricLog::restore() {
  if (jsonl_bytes_ < 0 || csv_bytes_ < 0) {
    throw Error(ErrorKind::checkpoint, {jsonl_.path(), 0, "jsonl_bytes"}, "a negative length");
  }
  jsonl_.cut(static_cast<uint64_t>(jsonl_bytes_));
  if (csv_bytes_ == 0) return csv_.cut(0);
  auto& files = posix_file_system();
  const auto csv = files.read_file(csv_.path());
  std::vector<std::string> wanted = std::move(columns_);
  columns_.clear();
  std::istringstream names(csv.substr(0, csv.find('\n')));
  for (std::string name; std::getline(names, name, ',');) columns_.push_back(name);
  const size_t known = columns_.size();
  for (auto& name : wanted) {
    const bool there = std::find(columns_.begin(), columns_.end(), name) != columns_.end();
    if (!there) columns_.push_back(std::move(name));
  }
  // The length of the csv file can differ from the length in the checkpoint: a process may have
  // been killed after it rewrote the csv file and before it wrote the next checkpoint.
  const auto kept = std::string_view(csv).substr(0, static_cast<size_t>(csv_bytes_));
  const auto jsonl = files.read_file(jsonl_.path());
  const bool in_step = kept.size() == static_cast<size_t>(csv_bytes_) && kept.ends_with('\n') &&
                       std::count(kept.begin(), kept.end(), '\n') ==
                           1 + std::count(jsonl.begin(), jsonl.end(), '\n');
  if (columns_.size() > known || !in_step) {
    rebuild_csv();
  } else {
    csv_.cut(static_cast<uint64_t>(csv_bytes_));
  }
}

void MetricLog::rebuild_csv() {
  auto& files = posix_file_system();
  std::string text = join(columns_, ",") + "\n";
  std::istringstream rows(files.read_file(jsonl_.path()));
  for (std::string line; std::getline(rows, line);) {
    const auto row = parse_untrusted_json(line);
    if (row.is_object()) text += csv_row(row);
  }
  write_file_atomically(files, csv_.path(), text);
  csv_bytes_ = static_cast<int64_t>(text.size());
}

TimingLog::TimingLog(const std::string& run_path) : file_(run_path + "/timing.jsonl") {}

void TimingLog::write(int64_t update_count, double wall_time, double updates_per_second) {
  const Json row = {{"update_count", update_count},
                    {"wall_time", json_number(wall_time)},
                    {"updates_per_second", json_number(updates_per_second)}};
  file_.append(file_.size(), to_line(row));
}

}  // namespace rl_training

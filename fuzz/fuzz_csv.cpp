// Reads an untrusted CSV table, compressed or not. Looks up every column and reads every cell.
#include <string_view>

#include "rl_training/data/csv_dataset.h"
#include "rl_training/data/gzip.h"
#include "rl_training/util/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rl_training;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const CsvTable table(is_gzip(bytes) ? gunzip(bytes, "data.csv") : std::string(bytes),
                         "data.csv");
    for (size_t column = 0; column < table.columns().size(); ++column) {
      const auto at = static_cast<int64_t>(column);
      table.find(table.full_name(at));
      for (int64_t row = 1; row < table.rows(); ++row) table.equal(row, row - 1, at);
    }
    const auto columns = CsvColumns::find(table, KeyMap::parse({"data.csv", 1, ""}, "obs=x*"));
    for (int64_t row = 0; row < table.rows(); ++row) table.finite_at(row, columns.reward);
  } catch (const Error&) {
  }
  return 0;
}

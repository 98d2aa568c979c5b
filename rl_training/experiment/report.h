#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/util/file_system.h"
#include "rl_training/util/json.h"

namespace rl_training {

// What one run directory tells about a run, finished or still going on.
struct RunSummary {
  std::string path, algo, env_id, commit;
  std::string dataset;  // recipe, file name or kind
  int64_t seed = 0;
  int64_t update_count = 0;
  int64_t global_step = 0, total_timesteps = 0;    // updates; online, environment steps
  std::optional<double> dataset_return;            // of a run with data
  std::optional<double> last_return, best_return;  // mean returns of evaluations
};

// The run directories that the paths name or, being directories with runs in them, hold. A path
// without any: Error{io}.
std::vector<std::string> find_runs(FileSystem& files, const std::vector<std::string>& paths);

// Takes no lock; a row that is just being written does not count yet.
RunSummary summarise_run(FileSystem& files, const std::string& run_dir);

// Mean and population standard deviation over runs.
struct Spread {
  size_t count = 0;
  double mean = 0, std = 0;
};

// Runs of one algorithm on one environment from one dataset: its seeds.
struct ReportGroup {
  std::string algo, env_id, dataset;
  std::vector<RunSummary> runs;  // by seed

  std::optional<Spread> last() const;
  std::optional<Spread> best() const;
  // A spread of returns as normalised scores, where the environment has references.
  std::optional<Spread> normalized(const std::optional<Spread>& returns) const;
  std::optional<double> dataset_return() const;
  std::vector<std::string> commits() const;
};

// By environment, dataset and algorithm, in order.
std::vector<ReportGroup> group_runs(const std::vector<RunSummary>& runs);

Json report_json(const std::vector<ReportGroup>& groups);

// The same as a table. `plus_minus` stands between mean and deviation.
struct ReportTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};
ReportTable report_table(const std::vector<ReportGroup>& groups, const std::string& plus_minus);
std::string report_markdown(const std::vector<ReportGroup>& groups);

}  // namespace rl_training

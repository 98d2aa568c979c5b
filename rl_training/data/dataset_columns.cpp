#include "rl_training/data/dataset_columns.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "rl_training/data/memory_limit.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

[[noreturn]] void does_not_fit() {
  throw Error(ErrorKind::data, "the columns of the dataset have different sizes");
}

template <class T>
void give(SandboxOutput& output, const Column<T>& column) {
  output.array(column.data(), column.size() * static_cast<int64_t>(sizeof(T)));
}

void will_need(const void* data, int64_t bytes) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<size_t>(data) % page;  // madvise() needs a page boundary
  auto* first = const_cast<char*>(static_cast<const char*>(data)) - before;
  ::madvise(first, before + static_cast<size_t>(bytes), MADV_WILLNEED);
}

template <class T>
Column<T> take(const Column<unsigned char>& bytes) {
  if (bytes.size() % static_cast<int64_t>(sizeof(T)) != 0) does_not_fit();
  return {std::make_shared<Column<unsigned char>>(bytes), reinterpret_cast<const T*>(bytes.data()),
          bytes.size() / static_cast<int64_t>(sizeof(T))};
}

}  // namespace

// The fingerprint covers these flags only if the dataset is used with next actions.
std::string DatasetColumns::hash_validity(const TransitionDataset& dataset) {
  std::vector<unsigned char> valid(static_cast<size_t>(dataset.rows()));
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    valid[static_cast<size_t>(row)] = dataset.rows_[row].next_action_valid != 0 ? 1 : 0;
  }
  ContentHash hash;
  hash.add(valid.data(), valid.size());
  return hash.hex();
}

Json DatasetColumns::hand_over(const TransitionDataset& dataset, SandboxOutput& output) {
  give(output, dataset.obs_);
  give(output, dataset.actions_);
  give(output, dataset.rows_);
  give(output, dataset.episodes_);
  give(output, dataset.next_actions_);
  return {{"obs_space", space_to_json(dataset.obs_space_)},
          {"action_space", space_to_json(dataset.action_space_)},
          {"observation_names", dataset.observation_names_},
          {"action_names", dataset.action_names_},
          {"next_actions", static_cast<int>(dataset.next_actions_kind_)},
          {"next_action_valid", hash_validity(dataset)},
          {"hashes",
           {dataset.hashes_.obs, dataset.hashes_.actions, dataset.hashes_.rewards,
            dataset.hashes_.next_actions}}};
}

TransitionDataset DatasetColumns::take_over(const Json& facts,
                                            const std::vector<Column<unsigned char>>& arrays) {
  static_assert(sizeof(TransitionDataset::Row) == 16 && sizeof(Episode) == 16);
  if (arrays.size() != 5) does_not_fit();
  TransitionDataset dataset(space_from_json(facts.at("obs_space"), "obs_space"),
                            space_from_json(facts.at("action_space"), "action_space"), arrays[0],
                            arrays[1], take<TransitionDataset::Row>(arrays[2]),
                            take<Episode>(arrays[3]));
  facts.at("observation_names").get_to(dataset.observation_names_);
  facts.at("action_names").get_to(dataset.action_names_);
  dataset.next_actions_ = arrays[4];
  dataset.next_actions_kind_ =
      static_cast<TransitionDataset::NextActions>(facts.at("next_actions").get<int>());
  const auto& hashes = facts.at("hashes");
  dataset.hashes_ = {hashes.at(0).get<std::string>(), hashes.at(1).get<std::string>(),
                     hashes.at(2).get<std::string>(), hashes.at(3).get<std::string>()};

  const int64_t slots = dataset.slots();
  const bool given = dataset.next_actions_kind_ == TransitionDataset::NextActions::given;
  if (dataset.obs_.size() % dataset.obs_width_ != 0 ||
      dataset.actions_.size() != slots * dataset.action_width_ ||
      dataset.next_actions_.size() != (given ? dataset.rows() * dataset.action_width_ : 0)) {
    does_not_fit();
  }
  dataset.update_fingerprint();
  return dataset;
}

bool DatasetColumns::may_exceed_memory(const TransitionDataset& dataset) {
  const auto row = static_cast<int64_t>(sizeof(TransitionDataset::Row));
  const int64_t bytes = dataset.obs_.size() + dataset.actions_.size() + dataset.rows() * row +
                        dataset.next_actions_.size();
  return bytes >= memory_limit() / 2;
}

void DatasetColumns::expect_random_access(const TransitionDataset& dataset) {
  if (!may_exceed_memory(dataset)) return;
  const auto bytes_of = [](const auto& column) { return std::as_bytes(column.span()); };
  const std::array columns = {bytes_of(dataset.obs_), bytes_of(dataset.actions_),
                              bytes_of(dataset.rows_), bytes_of(dataset.next_actions_)};
  for (const auto& column : columns) {
    // Uses only the pages that lie entirely inside the column, so that no other data is affected.
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<size_t>(column.data());
    const size_t before = (page - address % page) % page;
    if (column.size() < before + page) continue;
    auto* start = const_cast<std::byte*>(column.data()) + before;
    ::madvise(start, (column.size() - before) / page * page, MADV_RANDOM);
  }
}

void DatasetColumns::read_ahead_places(const TransitionDataset& dataset,
                                       std::span<const int64_t> rows) {
  for (const auto row : rows) {
    will_need(dataset.row_address(row), int64_t{sizeof(TransitionDataset::Row)});
  }
}

void DatasetColumns::read_ahead(const TransitionDataset& dataset, std::span<const int64_t> rows) {
  for (const auto row : rows) {
    will_need(dataset.obs_bytes(row), 2 * dataset.obs_width_);
    will_need(dataset.action_bytes(row), 2 * dataset.action_width_);
    if (dataset.next_actions_.size() > 0) {
      will_need(dataset.next_actions_.data() + row * dataset.action_width_, dataset.action_width_);
    }
  }
}

bool DatasetColumns::is_intact(const TransitionDataset& dataset, const Json& facts) {
  // Checks the row records before hashing, because hashing follows their slot indices, which may be
  // out of range.
  const int64_t slots = dataset.slots();
  int64_t rows = 0;
  for (const Episode& episode : dataset.episodes()) {
    if (episode.first_row != rows || episode.rows < 1 || episode.rows > dataset.rows() - rows) {
      return false;
    }
    const int64_t first = dataset.rows_[rows].slot;
    for (int64_t i = 0; i < episode.rows; ++i) {
      const auto& row = dataset.rows_[rows + i];
      if (row.slot != first + i || (row.last != 0) != (i + 1 == episode.rows)) return false;
      if (row.own_successor != 0) return false;  // cached datasets have no separate successors
    }
    if (first < 0 || first >= slots - episode.rows) return false;
    rows += episode.rows;
  }
  if (rows != dataset.rows()) return false;
  TransitionDataset again = dataset;
  again.compute_hashes(dataset.has_next_actions());
  return again.fingerprint_ == dataset.fingerprint_ &&
         hash_validity(dataset) == facts.at("next_action_valid").get<std::string>();
}

}  // namespace rl_training

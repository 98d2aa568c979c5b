// Python bindings for datasets from files and arrays.
#include <pybind11/stl.h>

#include "python/src/convert.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/inspect.h"
#include "rl_training/data/npz.h"
#include "rl_training/experiment/action_space_finder.h"

namespace rl_training {
namespace {

// Transitions with actions in the units of the log.
class LoadedTransitions {
 public:
  explicit LoadedTransitions(TransitionDataset rows) : rows_(std::move(rows)) {}

  int64_t size() const { return rows_.rows(); }
  const TransitionDataset& rows() const { return rows_; }
  // Returns column `name` of all rows as a view of the library's memory. Observations and actions
  // whose rows are not contiguous are copied.
  py::array column(const std::string& name) const;

 private:
  using Address = const unsigned char* (TransitionDataset::*)(int64_t) const;
  py::array vectors(Address address, const Space& space) const;

  TransitionDataset rows_;
};

// A read-only view of memory that the dataset owns. The view holds a copy of the dataset; copies
// share the memory.
py::array view(const TransitionDataset& dataset, const py::dtype& dtype,
               const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
               const void* data) {
  auto* keeper = new TransitionDataset(dataset);
  const py::capsule owner(keeper, [](void* kept) { delete static_cast<TransitionDataset*>(kept); });
  py::array array(dtype, shape, strides, data, owner);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::array LoadedTransitions::vectors(Address address, const Space& space) const {
  const int64_t count = rows_.rows(), width = space.bytes();
  std::vector<int64_t> shape = {count};
  shape.insert(shape.end(), space.shape.begin(), space.shape.end());
  const auto dtype = space.is_discrete() ? py::dtype::of<int64_t>()
                     : space.is_image()  ? py::dtype::of<uint8_t>()
                                         : py::dtype::of<float>();
  const unsigned char* first = (rows_.*address)(0);
  bool side_by_side = true;
  for (int64_t row = 1; row < count && side_by_side; ++row) {
    side_by_side = (rows_.*address)(row) == first + row * width;
  }
  if (side_by_side) return view(rows_, dtype, shape, {}, first);
  py::array array(dtype, shape);
  auto* target = static_cast<unsigned char*>(array.mutable_data());
  for (int64_t row = 0; row < count; ++row) {
    std::memcpy(target + row * width, (rows_.*address)(row), static_cast<size_t>(width));
  }
  return array;
}

py::array LoadedTransitions::column(const std::string& name) const {
  using Rows = TransitionDataset;
  const auto of_rows = [&](const py::dtype& dtype, const void* first) {
    return view(rows_, dtype, {size()}, {Rows::kRowBytes}, first);
  };
  if (name == "observations") return vectors(&Rows::obs_bytes, rows_.obs_space());
  if (name == "next_observations") return vectors(&Rows::next_obs_bytes, rows_.obs_space());
  if (name == "actions") return vectors(&Rows::action_bytes, rows_.action_space());
  if (name == "rewards") return of_rows(py::dtype::of<float>(), rows_.rewards());
  if (name == "terminals") return of_rows(py::dtype::of<bool>(), rows_.terminated_flags());
  if (name == "timeouts") return of_rows(py::dtype::of<bool>(), rows_.truncated_flags());
  throw py::key_error(name);
}

struct Reading {
  std::string kind = "auto", path, keys, timeout_policy = "auto";
  bool discrete = false;
  std::shared_ptr<MemoryArrays> arrays;  // used instead of a file if set

  DatasetReadOptions options() const {
    static const Space kAnyChoice = Space::discrete(ActionSpaceFinder::kMostChoices);
    DatasetReadOptions read;
    // Minari files state the number of discrete actions. Other sources do not, so the largest
    // supported number is assumed.
    const bool stated = !arrays && (kind == "auto" ? detect_dataset_kind(path) : kind) == "minari";
    if (discrete && !stated) read.bounds = &kAnyChoice;
    if (timeout_policy == "drop") read.timeout_policy = TimeoutPolicy::drop;
    if (timeout_policy == "keep") read.timeout_policy = TimeoutPolicy::keep;
    read.keys = keys;
    return read;
  }
};

LoadedTransitions load(const Reading& reading) {
  const py::gil_scoped_release release;
  return LoadedTransitions(reading.arrays
                               ? reading.arrays->transitions(reading.options()).dataset
                               : load_dataset_file(reading.kind, reading.path, reading.options()));
}

py::object inspect(const Reading& reading) {
  Json report;
  {
    const py::gil_scoped_release release;
    report = (reading.arrays ? inspect_steps(reading.arrays->steps(reading.options()), "npz",
                                             reading.options())
                             : inspect_dataset(reading.kind, reading.path, reading.options()))
                 .to_json();
  }
  if (reading.arrays) report["kind"] = "memory";
  return to_python(report);
}

}  // namespace

void bind_datasets(py::module_& module) {
  py::class_<MemoryArrays, std::shared_ptr<MemoryArrays>>(module, "MemoryArrays")
      .def(py::init(&memory_arrays));
  py::class_<LoadedTransitions>(module, "Transitions")
      .def("__len__", &LoadedTransitions::size)
      .def("column", &LoadedTransitions::column)
      .def("fingerprint", [](const LoadedTransitions& self) { return self.rows().fingerprint(); })
      .def("episodes",
           [](const LoadedTransitions& self) {
             py::list list;
             for (const auto& episode : self.rows().episodes()) {
               list.append(py::make_tuple(episode.first_row, episode.rows));
             }
             return list;
           })
      .def("save", [](const LoadedTransitions& self, const std::string& path) {
        const py::gil_scoped_release release;
        save_npz_dataset(self.rows(), path);
      });
  py::class_<Reading>(module, "Reading")
      .def(py::init<>())
      .def_readwrite("kind", &Reading::kind)
      .def_readwrite("path", &Reading::path)
      .def_readwrite("keys", &Reading::keys)
      .def_readwrite("timeout_policy", &Reading::timeout_policy)
      .def_readwrite("discrete", &Reading::discrete)
      .def_readwrite("arrays", &Reading::arrays)
      .def("load", &load)
      .def("inspect", &inspect);
}

}  // namespace rl_training

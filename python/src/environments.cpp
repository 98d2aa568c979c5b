// Bindings for Python environments in the library, and for environments of the library in Python.
#include <pybind11/stl.h>

#include <map>
#include <random>
#include <utility>

#include "python/src/convert.h"
#include "python/src/python_environment.h"
#include "python/src/python_vector.h"
#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// Creates the environments of one id with the factory `make`. `first` is the environment that was
// created for inspection. The first request returns it, and later requests call the factory.
struct Maker {
  py::object make, first;
  EnvSpec spec;            // for a vector of environments: the spec of one member
  int64_t group_size = 0;  // number of members; 0 if this is not a vector

  py::object next() { return first ? std::exchange(first, py::object()) : make(); }
};

// The makers by id. The map is never destroyed, because the interpreter ends before static
// variables are destroyed.
std::map<std::string, Maker>& makers() {
  static auto* const all = new std::map<std::string, Maker>();
  return *all;
}

EnvInfo single_info(const std::string& id) {
  return {id, "an environment written in Python", [id] {
            const py::gil_scoped_acquire gil;
            return std::make_unique<PythonEnvironment>(id, makers().at(id).next());
          }};
}

EnvInfo vector_info(const std::string& id) {
  EnvInfo info = {id, "a vector of environments written in Python", [id] {
                    return std::make_unique<PythonVectorMember>(makers().at(id).spec, nullptr, 0);
                  }};
  info.group = EnvGroup{
      [id] { return makers().at(id).group_size; },
      [id] {
        const py::gil_scoped_acquire gil;
        const auto vector = std::make_shared<PythonVector>(id, makers().at(id).next());
        std::vector<std::unique_ptr<Environment>> members;
        for (int64_t i = 0; i < vector->count(); ++i) {
          members.push_back(std::make_unique<PythonVectorMember>(vector->spec(), vector, i));
        }
        return members;
      }};
  return info;
}

// Registers a factory in place of any earlier factory with the same id. Returns the number of
// environments in a vector, or 0 for a single environment.
int64_t add_python_environment(const std::string& id, py::object make, py::object first,
                               bool is_vector) {
  Maker maker{std::move(make), first.is_none() ? py::object() : std::move(first), {}, 0};
  if (is_vector) {
    const PythonVector vector(id, maker.first);
    maker.spec = vector.spec();
    maker.group_size = vector.count();
  }
  const int64_t count = maker.group_size;
  if (makers().count(id) == 0) {
    register_environment(is_vector ? vector_info(id) : single_info(id));
  }
  makers()[id] = std::move(maker);
  return count;
}

// Makes an environment of the library available to Python code.
class NativeEnvironment {
 public:
  NativeEnvironment(const std::string& id, const std::string& options)
      : task_(make_environment(id, read_env_options(id, options))), rng_(std::random_device{}()) {
    if (spec().observation.is_image()) {
      throw Error(
          ErrorKind::config, {"", 0, "env_id"},
          id + " observes images, which is not supported from Python (expected a task without "
               "wrappers.pixels)");
    }
    obs_.resize(static_cast<size_t>(spec().observation.size()));
  }

  const EnvSpec& spec() const { return task_->spec(); }

  py::array reset(std::optional<uint64_t> seed) {
    if (seed) rng_ = Rng(*seed);
    task_->reset(rng_, obs_);
    return observation();
  }

  py::tuple step(const py::array_t<double, py::array::c_style | py::array::forcecast>& action) {
    const auto& space = spec().action;
    if (action.size() != space.size()) {
      throw Error(ErrorKind::data, {spec().id, 0, "action"},
                  "not in the action space (expected " + space.text() + ", got " +
                      std::to_string(action.size()) + " numbers)");
    }
    if (space.is_discrete() && !space.contains_choice(action.data()[0])) {
      throw Error(ErrorKind::data, {spec().id, 0, "action"},
                  "no such action (expected 0 to " + std::to_string(space.categories - 1) + ")");
    }
    const auto result = task_->step({action.data(), static_cast<size_t>(action.size())}, obs_);
    return py::make_tuple(observation(), result.reward, result.terminated, result.truncated);
  }

 private:
  py::array observation() const {
    py::array_t<float> array(static_cast<py::ssize_t>(obs_.size()));
    std::transform(obs_.begin(), obs_.end(), array.mutable_data(),
                   [](double value) { return static_cast<float>(value); });
    return array;
  }

  std::unique_ptr<Environment> task_;
  Rng rng_;
  std::vector<double> obs_;
};

}  // namespace

EnvOptions read_env_options(const std::string& id, const std::string& text) {
  EnvOptions read;
  if (find_environment(id) == nullptr) return read;
  const auto map = ConfigNode::from_json(parse_arguments(text), "");
  OptionReader reader(map, "");
  read.visit_options(reader, id);
  reader.finish({}, id);
  return read;
}

void bind_environments(py::module_& module) {
  module.def("add_python_environment", &add_python_environment);
  py::class_<NativeEnvironment>(module, "NativeEnvironment")
      .def(py::init<const std::string&, const std::string&>())
      .def("spec",
           [](const NativeEnvironment& self) {
             const auto& spec = self.spec();
             py::dict facts;
             facts["id"] = spec.id;
             facts["summary"] = spec.summary;
             facts["obs_dim"] = spec.observation.size();
             facts["choices"] = spec.action.categories;
             facts["action_low"] = spec.action.low;
             facts["action_high"] = spec.action.high;
             facts["max_episode_steps"] = spec.max_episode_steps;
             return facts;
           })
      .def("reset", &NativeEnvironment::reset)
      .def("step", &NativeEnvironment::step);
}

}  // namespace rl_training

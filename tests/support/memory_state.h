#pragma once
#include <cstring>
#include <map>
#include <string>

#include "rl_training/util/state.h"

namespace rl_training {

// Saves the state of an object in memory and restores it.
class MemoryState final : public StateVisitor {
 public:
  template <class Part>
  void save(Part& object) {
    saving_ = true;
    parts_.clear();
    object.visit_state(*this);
  }
  template <class Part>
  void restore(Part& object) {
    saving_ = false;
    object.visit_state(*this);
  }
  const std::map<std::string, std::string>& parts() const { return parts_; }

 protected:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    size_t bytes = static_cast<size_t>(dtype_size(dtype));
    for (const int64_t dim : shape) bytes *= static_cast<size_t>(dim);
    if (saving_) {
      parts_[name].assign(static_cast<const char*>(data), bytes);
    } else {
      std::memcpy(data, parts_.at(name).data(), bytes);
    }
  }
  void on_text(const std::string& name, std::string& value) override {
    if (saving_) {
      parts_[name] = value;
    } else {
      value = parts_.at(name);
    }
  }

 private:
  bool saving_ = true;
  std::map<std::string, std::string> parts_;
};

}  // namespace rl_training

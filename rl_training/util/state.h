#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rl_training {

enum class DType { u8, i64, u64, f32, f64 };

constexpr int64_t dtype_size(DType dtype) {
  return dtype == DType::u8 ? 1 : dtype == DType::f32 ? 4 : 8;
}

// Visits everything that changes during training. Each stateful class has a function
//   void visit_state(StateVisitor& state)
// that lists its parts. This one list is used for saving, loading, hashing and exact resume. State
// that a class does not list is not restored.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;

  // An array of fixed shape, read or written in place.
  void array(std::string_view name, DType dtype, std::span<const int64_t> shape, void* data) {
    on_array(full_name(name), dtype, shape, data);
  }
  // A byte string of any length.
  void text(std::string_view name, std::string& value) { on_text(full_name(name), value); }

  // A counter from `lowest` to 2^53. Throws Error{checkpoint} for other values, because checkpoints
  // are not trusted.
  void scalar(std::string_view name, int64_t& value, int64_t lowest = 0);
  void scalar(std::string_view name, uint64_t& value) { array(name, DType::u64, {}, &value); }
  void scalar(std::string_view name, double& value) { array(name, DType::f64, {}, &value); }
  void scalar(std::string_view name, bool& value) {
    uint8_t byte = value ? 1 : 0;
    array(name, DType::u8, {}, &byte);
    value = byte != 0;
  }

  // A part with its own `visit_state`. The names in its state get the prefix "name.".
  template <class Part>
  void part(std::string_view name, Part& object) {
    const std::string outer = prefix_;
    prefix_ = full_name(name) + ".";
    object.visit_state(*this);
    prefix_ = outer;
  }

 protected:
  virtual void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                        void* data) = 0;
  virtual void on_text(const std::string& name, std::string& value) = 0;

 private:
  std::string full_name(std::string_view name) const { return prefix_ + std::string(name); }
  std::string prefix_;
};

}  // namespace rl_training

#pragma once
#include <pybind11/pybind11.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <utility>

#include "rl_training/runtime/stop_request.h"

namespace rl_training {

namespace py = pybind11;

// Stop requests that can also come from Python. Python's signal handlers run when the training
// thread polls this object. Exceptions of handlers or callbacks are stored and thrown after
// training has ended.
class PythonStopRequests final : public StopRequests {
 public:
  int stop() const override {
    if (const int requested = StopRequests::stop(); requested != 0) return requested;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look_ < std::chrono::milliseconds(50)) return 0;
    last_look_ = now;
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) {
      raised_ = std::make_exception_ptr(py::error_already_set());
      return SIGINT;
    }
    return StopRequests::stop();
  }
  void keep(std::exception_ptr raised) { raised_ = std::move(raised); }
  void rethrow() {
    if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
  }

 private:
  mutable std::chrono::steady_clock::time_point last_look_ = {};
  mutable std::exception_ptr raised_;
};

}  // namespace rl_training

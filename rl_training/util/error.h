#pragma once
#include <stdexcept>
#include <string>

namespace rl_training {

// The value of each kind is the exit code of the program.
enum class ErrorKind { internal = 1, config = 2, data = 3, checkpoint = 4, diverged = 5, io = 6 };

// Position of a problem in the user's input. Empty parts are omitted from the message.
struct ErrorPlace {
  std::string file;
  int line = 0;  // 1-based; 0 means "the file as a whole"
  std::string key;
};

// The exception type of the library. Thrown where input enters (config, data, checkpoint,
// environment, files), caught in cli/program.cpp and printed as one line.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, ErrorPlace place, const std::string& message);
  Error(ErrorKind kind, const std::string& message) : Error(kind, ErrorPlace{}, message) {}

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const ErrorPlace& place() const { return place_; }
  const std::string& message() const { return message_; }  // without the place

 private:
  ErrorKind kind_;
  ErrorPlace place_;
  std::string message_;
};

// "config", "data", ...: the `code` of an error printed with --json.
const char* error_kind_name(ErrorKind kind);

}  // namespace rl_training

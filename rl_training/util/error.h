#pragma once
#include <stdexcept>
#include <string>

namespace rl_training {

// The kinds of errors. The value of a kind is the exit code of the program.
enum class ErrorKind { internal = 1, config = 2, data = 3, checkpoint = 4, diverged = 5, io = 6 };

// The position of an error in the user's input. Empty parts are omitted from the message.
struct ErrorPlace {
  std::string file;
  int line = 0;  // counted from 1; 0 if no line is known
  std::string key;
};

// The exception type of the library. Most errors concern input: configs, datasets, checkpoints,
// environments and files. cli/program.cpp catches the exception and prints one line.
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

// The name of a kind, such as "config" or "data". With --json, a printed error contains this name
// in its field `code`.
const char* error_kind_name(ErrorKind kind);

}  // namespace rl_training

#include "rl_training/util/error.h"

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::string one_line(const ErrorPlace& place, const std::string& message) {
  std::string text;
  if (!place.file.empty()) {
    text += place.file;
    if (place.line > 0) text += ":" + std::to_string(place.line);
    text += ": ";
  }
  if (!place.key.empty()) text += place.key + ": ";
  return printable(text + message);
}

}  // namespace

Error::Error(ErrorKind kind, ErrorPlace place, const std::string& message)
    : std::runtime_error(one_line(place, message)),
      kind_(kind),
      place_(std::move(place)),
      message_(message) {}

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::config:
      return "config";
    case ErrorKind::data:
      return "data";
    case ErrorKind::checkpoint:
      return "checkpoint";
    case ErrorKind::diverged:
      return "diverged";
    case ErrorKind::io:
      return "io";
    case ErrorKind::internal:
      break;
  }
  return "internal";
}

}  // namespace rl_training

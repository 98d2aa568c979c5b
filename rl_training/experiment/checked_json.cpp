#include "rl_training/experiment/checked_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// Uses the SAX interface, because nlohmann's parser callback takes quadratic time for an object
// that contains many objects.
class Checker final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Checker(const std::string& file, size_t max_depth, size_t max_keys)
      : file_(file), max_depth_(max_depth), keys_left_(max_keys) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }

  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!open_.back().insert(name).second) reject(name, "duplicate key");
    if (keys_left_-- == 0) reject("", "holds too many keys");
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    reject("", "not valid JSON");
  }

 private:
  [[noreturn]] void reject(const std::string& key, const char* what) const {
    throw Error(ErrorKind::checkpoint, {file_, 0, key}, what);
  }
  bool open() {
    if (open_.size() == max_depth_) reject("", "nested too deeply");
    open_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  size_t max_depth_;
  size_t keys_left_;
  std::vector<std::set<std::string>> open_;  // the keys of each open object
};

}  // namespace

void check_json(std::string_view text, const std::string& file, size_t max_depth, size_t max_keys) {
  // The parser would treat a zero byte as the end of the text.
  if (text.find('\0') != std::string_view::npos) {
    throw Error(ErrorKind::checkpoint, {file, 0, ""}, "not valid JSON");
  }
  Checker checker(file, max_depth, max_keys);
  nlohmann::json::sax_parse(text.begin(), text.end(), &checker);
}

}  // namespace rl_training

#include "cli/observation_line.h"

#include <cmath>
#include <limits>

#include "rl_training/util/json.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

[[noreturn]] void refuse_line(const ErrorPlace& place, const std::string& problem,
                              const std::string& expected, const std::string& got) {
  throw Error(ErrorKind::data, place,
              problem + " (expected " + expected + ", got " + shortened(got, 60) + ")");
}

std::vector<double> read_obs(const Json& json, const std::string& text, int64_t size,
                             const ErrorPlace& place) {
  const auto numbers = std::to_string(size) + " numbers";
  if (!json.is_array()) {
    refuse_line(place, "not a JSON array of numbers", numbers + " such as [0.1, -0.2]", text);
  }
  std::vector<double> obs;
  for (const auto& item : json) {
    // Networks compute in single precision, so a larger number would become infinite.
    if (!item.is_number() || std::abs(item.get<double>()) > std::numeric_limits<float>::max()) {
      refuse_line(place, "not an observation", "finite numbers",
                  item.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    obs.push_back(item.get<double>());
  }
  if (static_cast<int64_t>(obs.size()) != size) {
    refuse_line(place, "does not fit the policy", numbers, std::to_string(obs.size()));
  }
  return obs;
}

}  // namespace

ObservationLine read_observation_line(const std::string& text, int64_t size,
                                      const ErrorPlace& place) {
  ObservationLine line;
  const Json json = parse_untrusted_json(text);
  if (!json.is_object()) {
    line.obs = read_obs(json, text, size, place);
    return line;
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "reward" && value.is_number() && std::isfinite(value.get<double>())) {
      line.reward = value.get<double>();
    } else if (key != "obs") {
      refuse_line(place, "not a step", "{\"obs\": [...], \"reward\": number}", text);
    }
  }
  line.obs = read_obs(json.value("obs", Json()), text, size, place);
  return line;
}

}  // namespace rl_training

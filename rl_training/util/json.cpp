#include "rl_training/util/json.h"

#include <cmath>

namespace rl_training {

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace rl_training

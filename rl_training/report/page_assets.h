#pragma once
#include <string_view>

namespace rl_training {

// Files embedded in the program and in every HTML report.
std::string_view page_style();
std::string_view page_script();
// dygraphs; "" if it was not installed when the program was built.
std::string_view chart_script();
std::string_view chart_style();

}  // namespace rl_training

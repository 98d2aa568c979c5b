#pragma once
#include <string_view>

namespace rl_training {

// Files that are embedded in the program and in every HTML report.
std::string_view page_style();
std::string_view page_script();
// The dygraphs library; "" if it was not installed when the program was built.
std::string_view chart_script();
std::string_view chart_style();

}  // namespace rl_training

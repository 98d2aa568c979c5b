#pragma once
#include <string>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Results go to stdout, everything else to stderr; both are escaped with printable().
void print(const std::string& text);
void print_json(const Json& value);  // on one line
void print_note(const std::string& line);

// Prints an error as one line on stderr and, with `json`, as an object on stdout.
void print_error(const Error& error, bool json);
// False if output could not be written (full disk).
bool stdout_is_good();

// Rows in aligned columns; `header`, if not empty, comes first with a rule below it.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& header = {});

// The same with the last column wrapped at the width of the terminal.
std::string wrapped_table(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<std::string>& header = {});

// Width of the terminal on stdout in columns; 80 if stdout is not a terminal.
size_t text_width();

// "-231.4 +- 12.0"; a missing value is "-".
std::string mean_and_std(const Json& metrics, const std::string& mean, const std::string& std_dev);

}  // namespace rl_training

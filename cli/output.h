#pragma once
#include <string>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Results go to stdout, all other output to stderr. Both are escaped with printable().
void print(const std::string& text);
void print_json(const Json& value);  // on one line
void print_note(const std::string& line);

// Prints an error as one line on stderr and, with `json`, as an object on stdout.
void print_error(const Error& error, bool json);
// Returns false if output could not be written, for example because the disk is full.
bool stdout_is_good();

// Formats rows in aligned columns. If `header` is not empty, it comes first, with a rule below it.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& header = {});

// Like text_table, but wraps the last column at the width of the terminal.
std::string wrapped_table(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<std::string>& header = {});

// Width of the terminal on stdout, in columns. 80 if stdout is not a terminal.
size_t text_width();

// "-231.4 +- 12.0"; a missing value is "-".
std::string mean_and_std(const Json& metrics, const std::string& mean, const std::string& std_dev);

}  // namespace rl_training

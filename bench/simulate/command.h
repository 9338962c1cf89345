#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/simulate/setup.h"

namespace rate_limit::simulated {

// These functions read the words of a command and the lines of a schedule. Each throws std::invalid_argument,
// whose text has the word that makes no sense, and what is wanted.

using Words = std::vector<std::string>;

/// A whole number in decimal digits. `what`: what it is called in the text of the error.
std::int64_t read_whole(const std::string& word, const char* what, std::int64_t least, std::int64_t most);

Way way_of(std::string_view name);

/// The setup of a schedule's run: `words` are NAME=VALUE each, among them a limit and a period.
Setup read_setup(const Words& words);

/// A line for each request: microseconds since the start, machine, key, microseconds of its response (0: as
/// set), with blanks between them. `path` is for the text of an error, which has the number of the line, too.
std::vector<Arrival> read_schedule(std::istream& lines, const std::string& path, const Setup& setup);

}  // namespace rate_limit::simulated

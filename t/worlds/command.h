#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rate_limit::world {

/// The command makes no sense.
class Usage : public std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// Throws Usage for anything but so many digits at most, of 18.
inline std::uint64_t whole_number(const std::string& word, std::size_t digits = 18) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos || word.size() > digits) {
        throw Usage("\"" + word + "\" is no whole number of at most " + std::to_string(digits) + " digits");
    }
    return std::stoull(word);
}

/// Faults of a world that has `end` of them: `0,3`, each once, or `none`. Throws Usage for anything else.
inline std::vector<std::size_t> fault_numbers(const std::string& word, std::size_t end) {
    std::vector<std::size_t> all;
    for (std::size_t at = word == "none" ? std::string::npos : 0; at != std::string::npos;) {
        const std::size_t comma = word.find(',', at);
        const std::size_t fault = whole_number(word.substr(at, comma - at));
        if (fault >= end) {
            throw Usage("there is no fault " + std::to_string(fault) + ": the world has " +
                        std::to_string(end));
        }
        if (std::find(all.begin(), all.end(), fault) != all.end()) {
            throw Usage("the fault " + std::to_string(fault) + " is named twice in \"" + word + "\"");
        }
        all.push_back(fault);
        at = comma != std::string::npos ? comma + 1 : comma;
    }
    return all;
}

/// The seed of a line that has a seed, a blank and a reason. Throws Usage for any other line.
inline std::uint64_t seed_of_line(const std::string& line) {
    const std::size_t blank = line.find(' ');
    const std::size_t reason = line.find_first_not_of(" \t\r", blank);
    if (blank == std::string::npos || reason == std::string::npos) {
        throw Usage("wanted are a seed, a blank and a reason");
    }
    if (line.back() == '\r') {
        throw Usage("it ends in a carriage return");
    }
    return whole_number(line.substr(0, blank));
}

/// The seeds of the lines, but for those that are empty or begin with #. `path` is for the text of an error.
/// Throws std::runtime_error, with the number of the line, where one is damaged.
inline std::vector<std::uint64_t> seeds_of(std::istream& lines, const std::string& path) {
    std::vector<std::uint64_t> seeds;
    std::size_t at = 0;
    for (std::string line; std::getline(lines, line);) {
        ++at;
        if (line.empty() || line.front() == '#') {
            continue;
        }
        try {
            seeds.push_back(seed_of_line(line));
        } catch (const Usage& wrong) {
            throw std::runtime_error(path + " line " + std::to_string(at) + ": " + wrong.what());
        }
    }
    if (seeds.empty()) {
        throw std::runtime_error(path + " has no seeds, or cannot be read");
    }
    return seeds;
}

}  // namespace rate_limit::world

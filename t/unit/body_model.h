#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rate_limit::body_model {

/// A random document, how it is written, and what its fields are, found by walking over it as it is in
/// memory: nothing here reads a text.
struct Node {
    enum class Kind { object, array, text, number, word };

    Kind kind = Kind::word;
    std::string text;  // a text as it is meant; a number or word as it is written
    std::vector<std::pair<std::string, Node>> inside;  // of an array without names
};

using Path = std::vector<std::string>;

/// All values at the end of the path, in the order of the document.
inline void find(const Node& node, const Path& path, std::size_t step, std::vector<std::string>& found) {
    if (step == path.size()) {
        const bool scalar = node.kind == Node::Kind::text || node.kind == Node::Kind::number;
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
        const bool shown = std::none_of(node.text.begin(), node.text.end(), is_control);
        if (scalar && shown && node.text.size() <= 128) {
            found.push_back(node.text);
        }
        return;
    }
    const bool array = node.kind == Node::Kind::array;
    for (std::size_t i = 0; i < node.inside.size(); ++i) {
        const std::string name = array ? std::to_string(i) : node.inside[i].first;
        if (path[step] == "*" || path[step] == name) {
            find(node.inside[i].second, path, step + 1, found);
        }
    }
}

/// The value of a field: the last one of its first path that occurs in any of the documents.
inline std::string value_of(const std::vector<Node>& documents, const std::vector<Path>& paths) {
    for (const Path& path : paths) {
        std::vector<std::string> found;
        for (const Node& document : documents) {
            find(document, path, 0, found);
        }
        if (!found.empty()) {
            return found.back();
        }
    }
    return "(none)";
}

class Maker {
public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t bound) { return random_() % bound; }
    bool percent(unsigned chance) { return below(100) < chance; }

    std::string name() {
        static const std::string names[] = {"a",
                                            "b",
                                            "usage",
                                            "0",
                                            "1",
                                            "2",
                                            "",
                                            "caf\xc3\xa9",
                                            "\xf0\x9f\x98\x80",
                                            "q\"\\/\n",
                                            "*",
                                            std::string(64, 'n'),
                                            std::string(65, 'n'),
                                            std::string(200, 'n')};
        return names[percent(60) ? below(2) : below(std::size(names))];
    }

    /// One name of a path: one that can be in a document, mostly.
    std::string step() {
        for (;;) {
            std::string step = percent(15) ? "*" : name();
            if (!step.empty() && step.size() <= 64) {
                return step;
            }
        }
    }

    Path path() {
        Path path;
        for (std::size_t i = 1 + below(percent(10) ? 16 : 3); i != 0; --i) {
            path.push_back(step());
        }
        return path;
    }

    Node node(std::size_t depth) {
        Node node;
        const std::size_t kind = depth == 0 ? 1 + below(3) : below(depth > 17 ? 9 : 7);
        if (kind == 0 || kind > 3) {
            node.kind = percent(65) ? Node::Kind::object : Node::Kind::array;
            for (std::size_t i = below(5); i != 0; --i) {
                std::string named = node.kind == Node::Kind::object ? name() : "";
                node.inside.emplace_back(std::move(named), this->node(depth - 1));
            }
        } else if (kind == 1) {
            node.kind = Node::Kind::text;
            node.text = text();
        } else if (kind == 2) {
            node.kind = Node::Kind::number;
            node.text = number();
        } else {
            static const char* const words[] = {"true", "false", "null"};
            node.text = words[below(3)];
        }
        return node;
    }

    std::string text() {
        std::string text;
        for (std::size_t i = percent(10) ? 120 + below(12) : below(12); i != 0; --i) {
            static const char* const parts[] = {
                "x",  "7",  " ", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                "\"", "\\", "/", "\n",       "\x01",         "data:"};
            text += parts[text.size() > 20 ? below(3) : below(std::size(parts))];
        }
        return text;
    }

    std::string number() {
        static const char* const numbers[] = {
            "0", "-0", "12", "1.50", "1e3", "-7.25E-04", "900719925474099312345", "3E+0"};
        return percent(5) ? std::string(127 + below(3), '9') : numbers[below(std::size(numbers))];
    }

    std::string space() {
        static const char* const spaces[] = {"", "", "", " ", "\n", "\t", " \n  "};
        return spaces[below(std::size(spaces))];
    }

    /// The document as JSON. All white space in it is between its parts.
    std::string written(const Node& node) {
        std::string out = space();
        switch (node.kind) {
            case Node::Kind::object:
            case Node::Kind::array:
                out += inside_of(node);
                break;
            case Node::Kind::text:
                out += quoted(node.text);
                break;
            default:
                out += node.text;
        }
        return out + space();
    }

    /// The text cut anywhere.
    std::vector<std::string_view> pieces(std::string_view text) {
        std::vector<std::string_view> pieces;
        const std::size_t most = 1 + below(percent(30) ? 3 : 200);
        while (!text.empty()) {
            const std::size_t size = std::min(text.size(), below(most + 1));
            pieces.push_back(text.substr(0, size));
            text.remove_prefix(size);
        }
        return pieces;
    }

    /// Each document as an event.
    std::string events(const std::vector<std::string>& documents) {
        static const char* const ends[] = {"\n", "\r\n", "\r"};
        const std::string end = ends[below(3)];
        std::string out = percent(20) ? "\xef\xbb\xbf" : "";
        for (const std::string& document : documents) {
            static const char* const before[] = {": {\"usage\":9}", "event: done", "id",
                                                 "dat: 1",          "datas: {}",   "retry: 5"};
            for (std::size_t i = below(3); i != 0; --i) {
                out += before[below(std::size(before))] + end;
            }
            out += lines_of(document, end) + end;
            out += percent(20) ? "data: [DONE]" + end + end : "";
        }
        return out;
    }

private:
    std::string lines_of(std::string_view document, const std::string& end) {
        std::string out;
        for (bool more = true; more;) {
            const std::size_t feed = document.find('\n');
            more = feed != std::string_view::npos;
            const std::string line(document.substr(0, feed));
            out += (percent(50) ? "data: " : "data:") + line + end;
            out += percent(10) ? "event: x" + end : "";
            document.remove_prefix(more ? feed + 1 : 0);
        }
        return out;
    }

    std::string inside_of(const Node& node) {
        const bool object = node.kind == Node::Kind::object;
        std::string out = object ? "{" : "[";
        out += space();
        for (std::size_t i = 0; i < node.inside.size(); ++i) {
            out += i == 0 ? "" : ",";
            out += object ? space() + quoted(node.inside[i].first) + space() + ":" : "";
            out += written(node.inside[i].second);
        }
        return out + (object ? "}" : "]");
    }

    static void append_unit(std::string& out, unsigned unit, bool upper) {
        const char* const digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
        out += "\\u";
        for (const unsigned shift : {12U, 8U, 4U, 0U}) {
            out += digits[unit >> shift & 15U];
        }
    }

    /// The character that begins at this byte; its length is counted there.
    static unsigned character(std::string_view text, std::size_t& at) {
        const auto first = static_cast<unsigned char>(text[at++]);
        if (first < 0x80) {
            return first;
        }
        unsigned rest = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        unsigned point = first & (0x3fU >> rest);
        for (; rest != 0; --rest) {
            point = point << 6U | (static_cast<unsigned char>(text[at++]) & 0x3fU);
        }
        return point;
    }

    std::string quoted(std::string_view text) {
        std::string out = "\"";
        const unsigned escapes = percent(50) ? 0 : 40;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t from = at;
            const unsigned point = character(text, at);
            static const std::string_view plain = "\b\f\n\r\t\"\\/";
            const std::size_t letter = point < 0x80 ? plain.find(static_cast<char>(point)) : plain.npos;
            const bool must = point < 0x20 || point == '"' || point == '\\';
            if (!must && !percent(escapes)) {
                out += text.substr(from, at - from);
            } else if (letter != plain.npos && percent(50)) {
                out += {'\\', "bfnrt\"\\/"[letter]};
            } else if (point < 0x10000) {
                append_unit(out, point, percent(50));
            } else {
                append_unit(out, 0xd800U + ((point - 0x10000) >> 10U), percent(50));
                append_unit(out, 0xdc00U + ((point - 0x10000) & 0x3ffU), percent(50));
            }
        }
        return out + "\"";
    }

    std::mt19937_64 random_;
};

}  // namespace rate_limit::body_model

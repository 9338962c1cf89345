#include "t/world/server_reply.h"

#include <array>
#include <charconv>

namespace rate_limit::world {
namespace {

void append_number(std::string& out, std::int64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace

void RespReply::line(char kind, std::int64_t number) {
    out_ += kind;
    append_number(out_, number);
    out_ += "\r\n";
}

/// A line has no other end in it.
void RespReply::line(char kind, std::string_view text) {
    out_ += kind;
    const std::size_t begin = out_.size();
    out_ += text;
    for (std::size_t i = begin; i < out_.size(); ++i) {
        if (out_[i] == '\r' || out_[i] == '\n') {
            out_[i] = ' ';
        }
    }
    out_ += "\r\n";
}

void RespReply::integer(std::int64_t number) {
    line(':', number);
}

void RespReply::bulk(std::string_view text) {
    line('$', static_cast<std::int64_t>(text.size()));
    out_ += text;
    out_ += "\r\n";
}

void RespReply::nil() {
    out_ += "$-1\r\n";
}

void RespReply::status(std::string_view text) {
    line('+', text);
}

void RespReply::error(std::string_view text) {
    line('-', text);
}

void RespReply::array(std::size_t count) {
    line('*', static_cast<std::int64_t>(count));
}

void append_command(std::string& out, const std::string_view* words, std::size_t count) {
    out += '*';
    append_number(out, static_cast<std::int64_t>(count));
    out += "\r\n";
    for (std::size_t i = 0; i < count; ++i) {
        out += '$';
        append_number(out, static_cast<std::int64_t>(words[i].size()));
        out += "\r\n";
        out += words[i];
        out += "\r\n";
    }
}

}  // namespace rate_limit::world

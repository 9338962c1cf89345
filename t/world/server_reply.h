#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rate_limit::world {

/// The receiver of a command's reply: a client, or the script that has called it.
class ServerReply {
public:
    ServerReply() = default;
    ServerReply(const ServerReply&) = delete;
    ServerReply& operator=(const ServerReply&) = delete;

    virtual void integer(std::int64_t number) = 0;
    virtual void bulk(std::string_view text) = 0;
    virtual void nil() = 0;
    virtual void status(std::string_view text) = 0;

    /// `text` begins with its code, as in `ERR syntax error`.
    virtual void error(std::string_view text) = 0;

    /// The next `count` replies are its elements.
    virtual void array(std::size_t count) = 0;

protected:
    ~ServerReply() = default;
};

/// Encodes replies as RESP2 behind what `out` holds.
class RespReply final : public ServerReply {
public:
    /// `out` outlives this object.
    explicit RespReply(std::string& out) noexcept : out_(out) {}

    void integer(std::int64_t number) override;
    void bulk(std::string_view text) override;
    void nil() override;
    void status(std::string_view text) override;
    void error(std::string_view text) override;
    void array(std::size_t count) override;

private:
    void line(char kind, std::int64_t number);
    void line(char kind, std::string_view text);

    std::string& out_;
};

/// A command in RESP, as clients and primaries send it.
void append_command(std::string& out, const std::string_view* words, std::size_t count);

}  // namespace rate_limit::world

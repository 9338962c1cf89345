#pragma once

#include <array>
#include <cstddef>

#include <lua.hpp>

#include "t/world/server_reply.h"

namespace rate_limit::world {

/// Leaves one reply on the stack of Lua, as a script sees it.
class LuaReply final : public ServerReply {
public:
    explicit LuaReply(lua_State* lua) noexcept : lua_(lua) {}

    bool failed() const noexcept { return failed_; }

    void integer(std::int64_t number) override;
    void bulk(std::string_view text) override;
    void nil() override;
    void status(std::string_view text) override;
    void error(std::string_view text) override;
    void array(std::size_t count) override;

private:
    struct Open {
        std::size_t count = 0;
        int filled = 0;
    };

    void place();

    lua_State* lua_;
    std::array<Open, 8> open_{};  // arrays in arrays
    std::size_t depth_ = 0;
    bool failed_ = false;
};

/// Pushes {name = text}.
void push_table_of(lua_State* lua, const char* name, std::string_view text);

/// Answers with the value on top of the stack, and takes it away.
void answer_value(lua_State* lua, ServerReply& reply);

/// Pushes a table with pack() and unpack().
void push_struct(lua_State* lua);

inline std::string_view string_at(lua_State* lua, int place) noexcept {
    std::size_t length = 0;
    const char* text = lua_tolstring(lua, place, &length);
    return {text, length};
}

}  // namespace rate_limit::world

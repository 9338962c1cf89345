#include "t/world/server_lua.h"

#include <cstdint>

namespace rate_limit::world {
namespace {

/// The integer that the processors Redis runs on make of a number, also of one that no integer holds.
std::int64_t integer_of(double number) noexcept {
    constexpr double edge = 9223372036854775808.0;
    return number >= -edge && number < edge ? static_cast<std::int64_t>(number) : INT64_MIN;
}

/// True where the table on top has a text under this name, which is on top then.
bool push_field(lua_State* lua, const char* name) {
    lua_pushstring(lua, name);
    lua_rawget(lua, -2);
    if (lua_type(lua, -1) == LUA_TSTRING) {
        return true;
    }
    lua_pop(lua, 1);
    return false;
}

/// Redis sends a table up to its first nil.
int count_elements(lua_State* lua) {
    int count = 0;
    for (bool there = true; there;) {
        lua_rawgeti(lua, -1, count + 1);
        there = !lua_isnil(lua, -1);
        count += there ? 1 : 0;
        lua_pop(lua, 1);
    }
    return count;
}

// NOLINTNEXTLINE(misc-no-recursion): tables nest as deep as Lua's stack, which is asked for room
void answer_table(lua_State* lua, ServerReply& reply) {
    const bool failed = push_field(lua, "err");
    if (failed || push_field(lua, "ok")) {
        const std::string_view text = string_at(lua, -1);
        if (failed) {
            reply.error(text);
        } else {
            reply.status(text);
        }
        lua_pop(lua, 1);
        return;
    }
    const int count = count_elements(lua);
    reply.array(static_cast<std::size_t>(count));
    for (int i = 1; i <= count; ++i) {
        lua_rawgeti(lua, -1, i);
        answer_value(lua, reply);
    }
}

}  // namespace

void LuaReply::place() {
    while (depth_ > 0) {
        Open& open = open_[depth_ - 1];
        lua_rawseti(lua_, -2, ++open.filled);
        if (static_cast<std::size_t>(open.filled) < open.count) {
            return;
        }
        --depth_;
    }
}

void LuaReply::integer(std::int64_t number) {
    lua_pushnumber(lua_, static_cast<double>(number));
    place();
}

void LuaReply::bulk(std::string_view text) {
    lua_pushlstring(lua_, text.data(), text.size());
    place();
}

void LuaReply::nil() {
    lua_pushboolean(lua_, 0);
    place();
}

void LuaReply::status(std::string_view text) {
    push_table_of(lua_, "ok", text);
    place();
}

void LuaReply::error(std::string_view text) {
    failed_ = depth_ == 0;
    push_table_of(lua_, "err", text);
    place();
}

void LuaReply::array(std::size_t count) {
    lua_createtable(lua_, static_cast<int>(count), 0);
    if (count == 0) {
        place();
    } else {
        open_.at(depth_++) = {count, 0};
    }
}

void push_table_of(lua_State* lua, const char* name, std::string_view text) {
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, text.data(), text.size());
    lua_setfield(lua, -2, name);
}

// NOLINTNEXTLINE(misc-no-recursion): see answer_table()
void answer_value(lua_State* lua, ServerReply& reply) {
    if (lua_checkstack(lua, 4) == 0) {
        reply.error("ERR reached lua stack limit");
        lua_pop(lua, 1);
        return;
    }
    switch (lua_type(lua, -1)) {
        case LUA_TSTRING:
            reply.bulk(string_at(lua, -1));
            break;
        case LUA_TNUMBER:
            reply.integer(integer_of(lua_tonumber(lua, -1)));
            break;
        case LUA_TTABLE:
            answer_table(lua, reply);
            break;
        case LUA_TBOOLEAN:
            if (lua_toboolean(lua, -1) != 0) {
                reply.integer(1);
                break;
            }
            [[fallthrough]];
        default:
            reply.nil();
    }
    lua_pop(lua, 1);
}

}  // namespace rate_limit::world

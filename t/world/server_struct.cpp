#include <cstdint>

#include "t/world/server_lua.h"

// A part of the library struct that Redis gives to scripts: integers of 1 to 8 bytes in either order. Errors
// leave these functions by longjmp, so that nothing in them has a destructor.

namespace rate_limit::world {
namespace {

struct Format {
    const char* at;
    bool big = false;
    bool is_signed = false;
    unsigned size = 0;
};

/// The next integer of a format. False at its end.
bool next(lua_State* lua, Format& format) {
    while (*format.at == '>' || *format.at == '<') {
        format.big = *format.at++ == '>';
    }
    const char kind = *format.at;
    if (kind == '\0') {
        return false;
    }
    if (kind != 'I' && kind != 'i') {
        luaL_error(lua, "invalid format option '%c'", kind);
    }
    format.is_signed = kind == 'i';
    format.size = 0;
    for (++format.at; *format.at >= '0' && *format.at <= '9' && format.size < 100; ++format.at) {
        format.size = format.size * 10 + static_cast<unsigned>(*format.at - '0');
    }
    format.size = format.size == 0 ? 4 : format.size;
    if (format.size > 8) {
        luaL_error(lua, "integral size %d is larger than limit of %d", static_cast<int>(format.size), 8);
    }
    return true;
}

std::uint64_t bits_of(double number) noexcept {
    return number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                      : static_cast<std::uint64_t>(number);
}

int pack(lua_State* lua) {
    Format format{luaL_checkstring(lua, 1)};
    luaL_Buffer out;
    luaL_buffinit(lua, &out);
    for (int argument = 2; next(lua, format); ++argument) {
        const std::uint64_t bits = bits_of(luaL_checknumber(lua, argument));
        for (unsigned i = 0; i < format.size; ++i) {
            const unsigned byte = format.big ? format.size - 1 - i : i;
            luaL_addchar(&out, static_cast<char>(bits >> (8 * byte)));
        }
    }
    luaL_pushresult(&out);
    return 1;
}

double number_at(const Format& format, const char* bytes) noexcept {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < format.size; ++i) {
        bits = bits << 8 | static_cast<unsigned char>(bytes[format.big ? i : format.size - 1 - i]);
    }
    if (!format.is_signed) {
        return static_cast<double>(bits);
    }
    const unsigned above = 64 - 8 * format.size;
    return static_cast<double>(static_cast<std::int64_t>(bits << above) >> above);
}

int unpack(lua_State* lua) {
    Format format{luaL_checkstring(lua, 1)};
    std::size_t length = 0;
    const char* bytes = luaL_checklstring(lua, 2, &length);
    std::size_t at = 0;
    int count = 0;
    while (next(lua, format)) {
        luaL_argcheck(lua, length - at >= format.size, 2, "data string too short");
        luaL_checkstack(lua, 2, "too many results");
        lua_pushnumber(lua, number_at(format, bytes + at));
        at += format.size;
        ++count;
    }
    lua_pushnumber(lua, static_cast<double>(at + 1));
    return count + 1;
}

}  // namespace

void push_struct(lua_State* lua) {
    lua_createtable(lua, 0, 2);
    lua_pushcfunction(lua, pack);
    lua_setfield(lua, -2, "pack");
    lua_pushcfunction(lua, unpack);
    lua_setfield(lua, -2, "unpack");
}

}  // namespace rate_limit::world

#include "t/world/server_scripts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "t/world/server.h"
#include "t/world/server_lua.h"
#include "t/world/server_numbers.h"

// Lua is C: an error leaves a function by longjmp. So the functions that Lua calls do all that has a
// destructor in another one, which has returned when they raise. Nothing in them throws but for want of
// memory, which ends the program.

namespace rate_limit::world {
namespace {

/// Finds where the function at this level stands. False where that is not known.
bool where(lua_State* lua, int level, lua_Debug& place) noexcept {
    return lua_getstack(lua, level, &place) != 0 && lua_getinfo(lua, "nSl", &place) != 0;
}

int read_unknown_global(lua_State* lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                      luaL_checkstring(lua, 2));
}

int write_global(lua_State* lua) {
    return luaL_error(lua, "Attempt to modify a readonly table");
}

/// Garbage is collected when there is so many percent of what was left the last time. The libraries and the
/// scripts are most of that: walking them more often costs time alone.
constexpr int gc_pause = 400;

/// A number as scripts send it to commands: with all its digits, or in newer servers with no more than tell
/// it from others.
void push_digits(lua_State* lua, double number, bool shortest) {
    std::array<char, 64> digits{};
    const bool has_fraction = number != std::floor(number);
    const char* end = shortest && has_fraction
                          ? std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr
                          : digits.data() + std::snprintf(digits.data(), digits.size(), "%.17g", number);
    lua_pushlstring(lua, digits.data(), static_cast<std::size_t>(end - digits.data()));
}

constexpr std::array libraries{luaopen_base, luaopen_table, luaopen_string, luaopen_math};

}  // namespace

Scripts::Scripts(Server& server) : server_(server), lua_(lua_newstate(ScriptMemory::allocate, &memory_)) {
    lua_gc(lua_, LUA_GCSETPAUSE, gc_pause);
    open_libraries();
    open_redis();
    protect_globals();
}

Scripts::~Scripts() {
    lua_close(lua_);
}

/// Without files, and without what is by chance.
void Scripts::open_libraries() {
    for (const lua_CFunction open : libraries) {
        lua_pushcfunction(lua_, open);
        lua_call(lua_, 0, 0);
    }
    for (const char* name : {"dofile", "loadfile", "print", "newproxy", "pcall", "xpcall"}) {
        lua_pushnil(lua_);
        lua_setglobal(lua_, name);
    }
    lua_getglobal(lua_, "math");
    for (const char* name : {"random", "randomseed"}) {
        lua_pushnil(lua_);
        lua_setfield(lua_, -2, name);
    }
    lua_pop(lua_, 1);
}

/// Into the table on top; the function knows this object.
void Scripts::add_function(const char* name, int (*function)(lua_State* lua)) {
    lua_pushlightuserdata(lua_, this);
    lua_pushcclosure(lua_, function, 1);
    lua_setfield(lua_, -2, name);
}

void Scripts::open_redis() {
    lua_createtable(lua_, 0, 4);
    add_function("call", call);
    add_function("pcall", pcall);
    add_function("error_reply", error_reply);
    add_function("status_reply", status_reply);
    lua_setglobal(lua_, "redis");
    push_struct(lua_);
    lua_setglobal(lua_, "struct");

    lua_pushlightuserdata(lua_, this);
    lua_pushcclosure(lua_, handle_error, 1);
    handler_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
    lua_pushliteral(lua_, "KEYS");
    keys_name_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
    lua_pushliteral(lua_, "ARGV");
    arguments_name_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
}

void Scripts::protect_globals() {
    lua_pushvalue(lua_, LUA_GLOBALSINDEX);
    lua_createtable(lua_, 0, 2);
    lua_pushcfunction(lua_, read_unknown_global);
    lua_setfield(lua_, -2, "__index");
    lua_pushcfunction(lua_, write_global);
    lua_setfield(lua_, -2, "__newindex");
    lua_setmetatable(lua_, -2);
    lua_pop(lua_, 1);
}

Scripts::Function Scripts::find(std::string_view digest) {
    wanted_ = digest;
    const auto place = functions_.find(wanted_);
    if (place != functions_.end()) {
        return place->second;
    }
    const auto lower = functions_.find(in_lower_case(digest));
    return lower == functions_.end() ? unknown : lower->second;
}

std::string Scripts::load(std::string_view text, std::string_view digest) {
    if (find(digest) != unknown) {
        return {};
    }
    if (luaL_loadbuffer(lua_, text.data(), text.size(), "@user_script") != 0) {
        std::string error = "ERR Error compiling script (new function): ";
        error += string_at(lua_, -1);
        lua_pop(lua_, 1);
        return error;
    }
    functions_[std::string(digest)] = luaL_ref(lua_, LUA_REGISTRYINDEX);
    return {};
}

void Scripts::clear() {
    for (const auto& [digest, function] : functions_) {
        luaL_unref(lua_, LUA_REGISTRYINDEX, function);
    }
    functions_.clear();
}

void Scripts::set_global(int name, Words words) {
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, name);
    lua_createtable(lua_, static_cast<int>(words.size()), 0);
    int at = 0;
    for (const std::string_view word : words) {
        lua_pushlstring(lua_, word.data(), word.size());
        lua_rawseti(lua_, -2, ++at);
    }
    lua_rawset(lua_, LUA_GLOBALSINDEX);
}

void Scripts::run(Call& call, Function function, Words keys, Words arguments) {
    client_ = &call.client;
    dirty_ = false;
    set_global(keys_name_, keys);
    set_global(arguments_name_, arguments);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, handler_);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, function);
    if (lua_pcall(lua_, 0, 1, -2) == 0) {
        answer_value(lua_, call.reply);
    } else {
        answer_error(call, function);
    }
    lua_settop(lua_, 0);
    client_ = nullptr;
}

/// The error is on top of the stack, as handle_error() has left it.
void Scripts::answer_error(Call& call, Function function) {
    const auto named = std::find_if(functions_.begin(), functions_.end(),
                                    [function](const auto& one) { return one.second == function; });
    const std::string& digest = named->first;
    std::string text;
    if (lua_istable(lua_, -1)) {
        lua_getfield(lua_, -1, "err");
        lua_getfield(lua_, -2, "source");
        lua_getfield(lua_, -3, "line");
        text = lua_isstring(lua_, -3) != 0 ? string_at(lua_, -3) : "ERR unknown error";
        if (lua_isstring(lua_, -2) != 0 && lua_isstring(lua_, -1) != 0) {
            text += " script: " + digest + ", on " + std::string(string_at(lua_, -2)) + ':' +
                    std::string(string_at(lua_, -1)) + '.';
        }
    } else {
        text = lua_isstring(lua_, -1) != 0 ? string_at(lua_, -1) : "execution failure";
        text = "ERR Error running script (call to f_" + digest + "): " + text;
    }
    call.reply.error(text);
}

Scripts& Scripts::self(lua_State* lua) noexcept {
    return *static_cast<Scripts*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

int Scripts::call(lua_State* lua) noexcept {
    return self(lua).run_command(true) ? lua_error(lua) : 1;
}

int Scripts::pcall(lua_State* lua) noexcept {
    self(lua).run_command(false);
    return 1;
}

/// Numbers become texts with all their digits. False where something is neither.
bool Scripts::take_arguments() noexcept {
    const int count = lua_gettop(lua_);
    words_.clear();
    for (int i = 1; i <= count; ++i) {
        const int type = lua_type(lua_, i);
        if (type == LUA_TNUMBER) {
            push_digits(lua_, lua_tonumber(lua_, i), server_.state.version == ServerVersion::redis_8);
            lua_replace(lua_, i);
        } else if (type != LUA_TSTRING) {
            return false;
        }
        words_.push_back(string_at(lua_, i));
    }
    return true;
}

bool Scripts::run_command(bool raises) noexcept {
    const bool sound = take_arguments();
    lua_checkstack(lua_, 8);
    std::string refusal;
    const ServerCommand* command = nullptr;
    if (!sound || words_.empty()) {
        refusal = sound ? "ERR Please specify at least one argument for this redis lib call"
                        : "ERR Lua redis lib command arguments must be strings or integers";
    } else {
        command = find_command(words_);
        refusal = server_.refuse_in_script(*client_, command, words_, dirty_);
    }
    if (command == nullptr || !refusal.empty()) {
        push_refusal(refusal);
    } else {
        dirty_ = dirty_ || command->is(ServerCommand::writes);
        LuaReply reply(lua_);
        Call call{server_, *client_, *command, words_, reply};
        command->run(call);
        if (!reply.failed()) {
            return false;
        }
    }
    if (raises && server_.state.version == ServerVersion::redis_6) {
        lua_getfield(lua_, -1, "err");  // it raises the text
    }
    return raises;
}

/// Redis 6 says where the script stands, and sends on its own reply's first byte.
void Scripts::push_refusal(const std::string& text) {
    lua_Debug place{};
    if (server_.state.version != ServerVersion::redis_6 || !where(lua_, 1, place)) {
        push_table_of(lua_, "err", text);
        return;
    }
    const bool is_plain = text.compare(0, 4, "ERR ") == 0;
    push_table_of(lua_, "err",
                  std::string(place.source) + ": " + std::to_string(place.currentline) + ": " +
                      (is_plain ? text.substr(4) : '-' + text));
}

int Scripts::handle_error(lua_State* lua) noexcept {
    lua_Debug place{};
    bool known = where(lua, 1, place);
    if (known && std::strcmp(place.what, "C") == 0) {
        known = where(lua, 2, place);
    }
    if (self(lua).server_.state.version == ServerVersion::redis_6) {
        if (known && lua_isstring(lua, 1) != 0) {
            lua_pushfstring(lua, "%s:%d: %s", place.source, place.currentline, lua_tostring(lua, 1));
        }
        return 1;
    }
    if (!lua_istable(lua, 1)) {
        const char* other = lua_toboolean(lua, 1) != 0 ? "true" : lua_isnil(lua, 1) ? "nil" : "false";
        lua_pushfstring(lua, "ERR %s", lua_isstring(lua, 1) != 0 ? lua_tostring(lua, 1) : other);
        lua_createtable(lua, 0, 3);
        lua_insert(lua, -2);
        lua_setfield(lua, -2, "err");
    }
    if (known) {
        lua_pushstring(lua, place.source);
        lua_setfield(lua, -2, "source");
        lua_pushinteger(lua, place.currentline);
        lua_setfield(lua, -2, "line");
    }
    return 1;
}

/// A code before the text, if it has none.
int Scripts::error_reply(lua_State* lua) noexcept {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        push_table_of(lua, "err", "ERR wrong number or type of arguments");
        return 1;
    }
    const char* text = lua_tostring(lua, 1);
    text += *text == '-' ? 1 : 0;
    const bool has_code =
        self(lua).server_.state.version == ServerVersion::redis_6 || std::strchr(text, ' ') != nullptr;
    lua_createtable(lua, 0, 1);
    lua_pushfstring(lua, has_code ? "%s" : "ERR %s", text);
    lua_setfield(lua, -2, "err");
    return 1;
}

int Scripts::status_reply(lua_State* lua) noexcept {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        push_table_of(lua, "err", "ERR wrong number or type of arguments");
        return 1;
    }
    push_table_of(lua, "ok", string_at(lua, 1));
    return 1;
}

}  // namespace rate_limit::world

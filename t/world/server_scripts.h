#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "t/world/server_command.h"
#include "t/world/server_memory.h"

struct lua_State;

namespace rate_limit::world {

class LuaReply;

/// The scripts of one server: Lua 5.1 with redis.call(), redis.pcall(), redis.error_reply() and
/// redis.status_reply(), and struct.pack() and struct.unpack() as far as lua/ uses them. cjson, cmsgpack, bit
/// and the debugger are not there.
class Scripts {
public:
    /// `server` outlives this object.
    explicit Scripts(Server& server);
    ~Scripts();
    Scripts(const Scripts&) = delete;
    Scripts& operator=(const Scripts&) = delete;

    using Function = int;
    static constexpr Function unknown = -1;

    /// A digest is 40 digits, in lower case as a rule. `unknown` until it was loaded.
    Function find(std::string_view digest);

    /// Compiles a script, unless it is known. The server's error where that fails, else empty.
    std::string load(std::string_view text, std::string_view digest);

    /// SCRIPT FLUSH.
    void clear();

    /// Runs a script that is known, and answers the call.
    void run(Call& call, Function function, Words keys, Words arguments);

private:
    static int call(lua_State* lua) noexcept;
    static int pcall(lua_State* lua) noexcept;
    static int error_reply(lua_State* lua) noexcept;
    static int status_reply(lua_State* lua) noexcept;
    static int handle_error(lua_State* lua) noexcept;
    static Scripts& self(lua_State* lua) noexcept;

    void open_libraries();
    void open_redis();
    void protect_globals();
    void add_function(const char* name, int (*function)(lua_State* lua));
    void set_global(int name, Words words);

    /// True where a table of an error is on the stack, else the reply is.
    bool run_command(bool raises) noexcept;
    bool take_arguments() noexcept;
    void push_refusal(const std::string& text);
    void answer_error(Call& call, Function function);

    Server& server_;
    ScriptMemory memory_;
    lua_State* lua_;
    int handler_ = 0;  // in the registry, as the names of the two tables are
    int keys_name_ = 0;
    int arguments_name_ = 0;
    std::unordered_map<std::string, Function> functions_;  // by digest, in the registry
    std::string wanted_;
    std::vector<std::string_view> words_;
    Client* client_ = nullptr;  // whose script runs
    bool dirty_ = false;        // it has written
};

}  // namespace rate_limit::world

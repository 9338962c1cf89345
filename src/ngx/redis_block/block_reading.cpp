#include "ngx/redis_block/block_reading.h"

#include <new>
#include <utility>

#include "ngx/conf/conf.h"
#include "ngx/redis_block/store_block.h"

namespace rate_limit {

namespace {

struct Reading {
    StoreBlock& block;
    SetLine set;
};

char* set_line(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    try {
        const auto& reading = *static_cast<const Reading*>(cf->handler_conf);
        return reading.set(cf, reading.block);
    } catch (const std::bad_alloc&) {
        return failed;
    }
}

ngx_command_t command_of(std::string_view name, bool begins_block) noexcept {
    ngx_command_t command = ngx_null_command;
    command.name = str(name);
    command.type = NGX_HTTP_MAIN_CONF | NGX_CONF_ANY | (begins_block ? NGX_CONF_BLOCK : 0);
    command.set = set_line;
    return command;
}

/// The module of "include".
ngx_module_t* core_of_configurations(const ngx_conf_t& cf) noexcept {
    ngx_module_t** module = cf.cycle->modules;
    while ((*module)->type != NGX_CONF_MODULE) {
        ++module;
    }
    return *module;
}

}  // namespace

/// A block with a handler of its own could not have blocks in it. So nginx looks for its lines among all
/// modules, which are these two here.
char* read_block(ngx_conf_t* cf, StoreBlock& block, const std::vector<std::string_view>& names,
                 std::string_view of_block, SetLine set) {
    std::vector<ngx_command_t> commands;
    commands.reserve(names.size() + 2);
    for (const std::string_view name : names) {
        commands.push_back(command_of(name, false));
    }
    if (!of_block.empty()) {
        commands.push_back(command_of(of_block, true));
    }
    commands.push_back(ngx_null_command);
    ngx_module_t lines{};
    lines.type = NGX_CONF_MODULE;
    lines.commands = commands.data();
    ngx_module_t* modules[] = {core_of_configurations(*cf), &lines, nullptr};

    Reading reading{block, set};
    const ngx_conf_t outer = *cf;
    ngx_module_t** const all = std::exchange(cf->cycle->modules, static_cast<ngx_module_t**>(modules));
    cf->handler = nullptr;
    cf->handler_conf = &reading;
    char* const result = ngx_conf_parse(cf, nullptr);
    cf->cycle->modules = all;
    *cf = outer;
    return result;
}

}  // namespace rate_limit

#pragma once

#include <string_view>
#include <vector>

#include "ngx/base/ngx.h"

namespace rate_limit {

struct StoreBlock;

/// Sets what a line of a block says; its words are those of the configuration.
using SetLine = char* (*)(ngx_conf_t* cf, StoreBlock& block);

/// Reads the block that has just begun, in which `names` stand, each before a semicolon, but for `of_block`,
/// empty: none, which begins a block; and "include". Names end with a zero byte. nginx itself refuses others.
/// Throws std::bad_alloc.
char* read_block(ngx_conf_t* cf, StoreBlock& block, const std::vector<std::string_view>& names,
                 std::string_view of_block, SetLine set);

}  // namespace rate_limit

#pragma once

#include "ngx/redis_block/store_block.h"

namespace rate_limit {

// The lines `ssl…` of a rate_limit_redis block.

char* set_ssl(ngx_conf_t* cf, StoreBlock& store);
char* set_ssl_verify(ngx_conf_t* cf, StoreBlock& store);
char* set_ssl_name(ngx_conf_t* cf, StoreBlock& store);
char* set_ssl_file(ngx_conf_t* cf, TlsLine& line);

/// The block is read: reads the files, as the user that nginx was started as. Says what does not fit.
char* finish_tls(ngx_conf_t* cf, StoreBlock& store);

}  // namespace rate_limit

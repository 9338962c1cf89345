#include "ngx/base/version.h"

namespace rate_limit {

const char name_and_version[] = "ngx_http_rate_limit_module "
#include "version.inc"
    ;

}  // namespace rate_limit

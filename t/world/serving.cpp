#include "operator/serving.h"

namespace rate_limit {

Serving serving() noexcept {
    return {"1.0.0", "1.22.1", "world", 1};
}

}  // namespace rate_limit

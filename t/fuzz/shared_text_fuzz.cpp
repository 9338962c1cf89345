// Whatever text Redis holds as the overrides that machines share, it is refused or read, and what was read is
// written so that it is read as the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/overrides/override_table.h"
#include "core/overrides/shared_text.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace rate_limit;
    std::vector<SharedOverride> all;
    if (read_shared_text({reinterpret_cast<const char*>(bytes), size}, all) != SharedTextError::none) {
        require(all.empty());
        return 0;
    }
    require(all.size() <= OverrideTable::most);
    std::vector<SharedOverride> again;
    require(read_shared_text(write_shared_text(all), again) == SharedTextError::none);
    require(again.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        require(all[i].same_subject(again[i]) && all[i].kind == again[i].kind &&
                all[i].until == again[i].until);
        require(all[i].percent <= 100 && is_of_key(all[i].kind) == !all[i].key.empty());
    }
    return 0;
}

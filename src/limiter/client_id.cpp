#include "limiter/client_id.h"

#include <array>
#include <memory>
#include <new>

#include "core/decimal.h"
#include "limiter/zone.h"

namespace rate_limit {

std::uint64_t client_id(Zone& zone, std::string_view store, std::string_view name,
                        std::string_view key) noexcept {
    constexpr std::string_view separator("\0", 1);
    const std::size_t room = store.size() + name.size() + key.size() + 3 * separator.size();
    std::array<char, 512> small;
    std::unique_ptr<char[]> large;
    if (room > small.size()) {
        large.reset(new (std::nothrow) char[room]);
        if (large == nullptr) {
            return 0;
        }
    }
    char* const text = large != nullptr ? large.get() : small.data();
    // No window's identity begins with this separator, so the id does not tell where the client's window lies
    // in the table.
    char* end = append(append(append(text, separator), store), separator);
    end = append(append(append(end, name), separator), key);
    return zone.windows().id_of({text, static_cast<std::size_t>(end - text)}).high;
}

}  // namespace rate_limit

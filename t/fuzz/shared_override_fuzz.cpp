// Whatever fields Redis holds as the overrides that machines share, they are refused or read, and what was
// read is written so that it is read as the same. The first line is the field, the rest its value.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/overrides/override.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace rate_limit;
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view field = text.substr(0, end);
    SharedSubject subject;
    Override what;
    if (read_shared(field, text.substr(std::min(end + 1, text.size())), subject, what) != SharedError::none) {
        return 0;
    }
    require(what.percent <= 100 && is_of_key(what.kind) == !subject.key.empty() && !subject.limit.empty());
    require(write_field(subject) == field);
    SharedSubject same;
    Override again;
    require(read_shared(field, write_value(what), same, again) == SharedError::none);
    require(again.kind == what.kind && again.percent == what.percent && again.from == what.from &&
            again.until == what.until && again.by == what.by && again.text == what.text);
    return 0;
}

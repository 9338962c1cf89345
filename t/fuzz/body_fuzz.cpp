// Whatever a body says, it is read alike in one piece, byte by byte, and cut at the places that the first
// bytes say.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/body/body_reader.h"
#include "require.h"

namespace rate_limit {
namespace {

constexpr std::string_view paths[] = {"usage.total_tokens", "*.0", "a", "a.*.b", "user[name]", "0.a"};

class Reading {
public:
    Reading(const BodyFields& fields, BodyKind kind) : reader_(fields, kind, values_) {}

    void read(std::string_view piece) {
        const std::string alone(piece);
        reader_.read(alone);
    }

    std::vector<std::string> end() {
        reader_.end();
        std::vector<std::string> found{reader_.good() ? "good" : "bad"};
        for (const BodyValue& value : values_) {
            found.emplace_back(value.found() ? "=" : "-").append(value.text());
        }
        return found;
    }

private:
    BodyValue values_[std::size(paths)];
    BodyReader reader_;
};

BodyFields make_fields() {
    BodyFields fields;
    for (const std::string_view text : paths) {
        BodyPath path;
        require(path.parse(text) == nullptr);
        fields.begin_field();
        require(fields.add(path));
    }
    return fields;
}

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rate_limit;
    static const BodyFields fields = make_fields();
    if (size < 2) {
        return 0;
    }
    const auto kind = static_cast<BodyKind>(data[0] % 5);
    const std::size_t step = 1 + data[1] % 31;
    const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
    Reading whole(fields, kind);
    Reading bytes(fields, kind);
    Reading steps(fields, kind);
    whole.read(body);
    for (std::size_t at = 0; at < body.size(); ++at) {
        bytes.read(body.substr(at, 1));
    }
    for (std::size_t at = 0; at < body.size(); at += step) {
        steps.read(body.substr(at, step));
    }
    const auto found = whole.end();
    require(bytes.end() == found);
    require(steps.end() == found);
    return 0;
}

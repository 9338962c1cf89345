#include "limiter/worker.h"

#include <algorithm>
#include <array>

#include "limiter/loop.h"

namespace rate_limit {

namespace {

Worker the_only_one;  // current unless another one is made so

struct Name {
    static constexpr WorkerPart part = WorkerPart::name;

    std::array<char, 16> digits{};
    bool known = false;
    std::int64_t last_number = 0;

    Name() noexcept {
        std::array<unsigned char, 8> bytes{};
        known = random_bytes(bytes.data(), bytes.size());
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            digits[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
            digits[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
        }
    }
};

}  // namespace

Worker* Worker::current_ = &the_only_one;

std::string_view worker_id() noexcept {
    const Name& name = Worker::current().part<Name>();
    return {name.digits.data(), name.known ? name.digits.size() : 0};
}

std::int64_t next_number() noexcept {
    std::int64_t& number = Worker::current().part<Name>().last_number;
    number = std::max(number + 1, now_millis() * 1000);
    return number;
}

}  // namespace rate_limit

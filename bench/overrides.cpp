// The cost of overrides: nanoseconds of a request to learn what holds for its key, with no override, one, and
// as many as there may be; and microseconds of a worker to take up a table that has changed. The least of
// some rounds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

#include "bench/processor_time.h"
#include "core/overrides/known_overrides.h"
#include "core/table/keyed_hash.h"
#include "core/table/process.h"

namespace {

using namespace rate_limit;

constexpr std::size_t requests = 200'000;
constexpr std::size_t renewals = 100;
constexpr unsigned rounds = 9;
constexpr std::uint64_t limit = 0x1234567;
constexpr Millis now = 1'700'000'000'000;
constexpr Millis hour = 3'600'000;
constexpr HashKey hash_key{1, 2};

/// Seconds of each call of `run`.
template <typename Run>
double least(std::size_t calls, Run run) {
    return least_of(rounds, calls, [&] {
        for (std::size_t n = 0; n < calls; ++n) {
            run(n);
        }
    });
}

std::string text_of(std::size_t n) {
    return std::string("main\0core\0", 10) + "203.0.113." + std::to_string(n);
}

void put(OverrideTable& table, std::size_t n) {
    Override what;
    what.subject = {limit, keyed_hash(hash_key, text_of(n)).high};
    what.kind = OverrideKind::ban;
    what.from = now;
    what.until = now + hour;
    if (!table.put(what, now)) {
        std::puts("no room");
        std::exit(1);
    }
}

}  // namespace

int main() {
    const std::size_t size = OverrideTable::bytes_for(OverrideTable::most) + OverrideTable::alignment;
    void* memory = std::aligned_alloc(OverrideTable::alignment,
                                      (size / OverrideTable::alignment + 1) * OverrideTable::alignment);
    std::fill_n(static_cast<char*>(memory), size, '\0');
    OverrideTable table;
    if (memory == nullptr ||
        !table.use(memory, size, {process_of(static_cast<std::uint32_t>(::getpid())), is_alive})) {
        return 1;
    }
    KnownOverrides known(table);
    std::vector<std::string> keys;
    for (std::size_t n = 0; n < 2 * OverrideTable::most; ++n) {
        keys.push_back(text_of(n));
    }
    std::uint64_t sum = 0;
    known.renew(now);
    const auto ask = [&](std::size_t n) {
        if (!known.none()) {
            known.renew(now);
            const std::uint64_t id = keyed_hash(hash_key, keys[n * 7 % keys.size()]).high;
            sum += static_cast<std::uint64_t>(known.of({limit, id}, now).kind);
        }
    };
    std::printf("the hash of a key alone:       %6.1f ns\n",
                1e9 * least(requests, [&](std::size_t n) {
                    sum += keyed_hash(hash_key, keys[n * 7 % keys.size()]).high;
                }));
    std::printf("what holds, without any:       %6.1f ns\n", 1e9 * least(requests, ask));
    put(table, 0);
    std::printf("with one:                      %6.1f ns\n", 1e9 * least(requests, ask));
    for (std::size_t n = 1; n < OverrideTable::most; ++n) {
        put(table, n);
    }
    std::printf("with %zu:                     %6.1f ns\n", OverrideTable::most, 1e9 * least(requests, ask));
    std::printf("taking up a table of %zu:     %6.1f us\n", OverrideTable::most,
                1e6 * least(renewals, [&](std::size_t /*n*/) {
                    put(table, 0);
                    known.renew(now);
                }));
    return sum != 0 ? 0 : 1;
}

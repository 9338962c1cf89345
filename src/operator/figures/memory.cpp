#include "operator/figures/memory.h"

#include "limiter/worker.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

/// Milliseconds for which a look counts.
constexpr Msec fresh_for = 1000;

/// How full the tables of one zone are, as this worker has found it within the last second.
class Occupancies {
public:
    static constexpr WorkerPart part = WorkerPart::occupancy;

    const WindowTable::Occupancy& of_windows(Zone& zone) noexcept {
        return find(zone, zone.windows(), windows_);
    }
    const DebtTable::Occupancy& of_debts(Zone& zone) noexcept { return find(zone, zone.debts(), debts_); }

private:
    template <typename Found>
    struct Look {
        const Zone* zone = nullptr;  // null: none yet
        Msec at = 0;
        Found found{};
    };

    template <typename Table, typename Found>
    static const Found& find(Zone& zone, const Table& table, Look<Found>& last) noexcept {
        if (last.zone != &zone || msec_now() - last.at >= fresh_for) {
            last = {&zone, msec_now(), table.occupancy(now_millis())};
        }
        return last.found;
    }

    Look<WindowTable::Occupancy> windows_;
    Look<DebtTable::Occupancy> debts_;
};

Occupancies& occupancies() noexcept {
    return Worker::current().part<Occupancies>();
}

template <Pressure what>
Figure pressure(const MemoryFigures& memory) {
    return memory.pressure->count(what);
}

constexpr Column<MemoryFigures> memory_columns[] = {
    {"bytes", {}, {}, field<&MemoryFigures::zone, &Zone::size>},
    {"windows.capacity", {}, {}, field<&MemoryFigures::window_capacity>},
    {"windows.open", {}, {}, field<&MemoryFigures::windows, &WindowTable::Occupancy::open>},
    {"windows.closed", {}, {}, field<&MemoryFigures::windows, &WindowTable::Occupancy::closed>},
    {"windows.estimated",
     {},
     {},
     [](const MemoryFigures& memory) -> Figure { return !memory.windows.exact; }},
    {"waiting.capacity", {}, {}, field<&MemoryFigures::waiting_capacity>},
    {"waiting.used",
     {},
     {},
     [](const MemoryFigures& memory) -> Figure { return memory.waiting.open + memory.waiting.closed; }},
    {"evicted.copy",
     {"forgotten: copies of what Redis has"},
     "zone_evicted_total",
     pressure<Pressure::evicted_copy>},
    {"evicted.tokens",
     {"forgotten: windows with tokens"},
     "zone_evicted_total",
     pressure<Pressure::evicted_tokens>},
    {"evicted.local",
     {"forgotten: open windows of local limits"},
     "zone_evicted_total",
     pressure<Pressure::evicted_local>},
    {"full", {"turned away: no room at all"}, "zone_full_total", pressure<Pressure::full>},
};

void write_bytes(MetricsText& text, const MemoryFigures& memory) {
    for (const auto& [part, bytes] : memory.zone->parts()) {
        text.sample({{"part", part}}, std::uint64_t{bytes});
    }
}

template <typename Occupancy>
void write_records(MetricsText& text, std::string_view part, std::size_t capacity, const Occupancy& found) {
    const std::size_t used = found.open + found.closed;
    text.sample({{"part", part}, {"state", "open"}}, std::uint64_t{found.open});
    text.sample({{"part", part}, {"state", "closed"}}, std::uint64_t{found.closed});
    text.sample({{"part", part}, {"state", "free"}}, std::uint64_t{capacity > used ? capacity - used : 0});
}

constexpr Family<MemoryFigures> memory_families[] = {
    {"zone_bytes", Type::gauge, "Bytes of the shared memory, by what they are for.", write_bytes},
    {"zone_records", Type::gauge, "Records in the shared memory; of many, an estimate.",
     [](MetricsText& text, const MemoryFigures& memory) {
         write_records(text, "windows", memory.window_capacity, memory.windows);
         write_records(text, "waiting", memory.waiting_capacity, memory.waiting);
     }},
    {"zone_evicted_total", Type::counter, "Open windows that were forgotten for want of room.", nullptr,
     "kind"},
    {"zone_full_total", Type::counter, "Windows, and what waits, that found no room at all."},
};

}  // namespace

void look_at_windows(Zone& zone) noexcept {
    (void)occupancies().of_windows(zone);
}

MemoryFigures memory_of(const Configuration& main) noexcept {
    Zone& zone = *main.zone;
    return {&zone,
            &main.tallies->pressure(),
            occupancies().of_windows(zone),
            zone.windows().capacity(),
            occupancies().of_debts(zone),
            zone.debts().capacity()};
}

constexpr Sheet<MemoryFigures> memory_sheet{
    memory_columns, memory_families,
    [](const MemoryFigures& /*memory*/) -> MetricsText::Labels { return {}; }};

}  // namespace rate_limit

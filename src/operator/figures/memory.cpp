#include "operator/figures/memory.h"

#include "limiter/tallies/tallies.h"
#include "limiter/worker.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

/// Milliseconds for which a look counts.
constexpr Msec fresh_for = 1000;

std::size_t free_of(std::size_t capacity, std::size_t used) noexcept {
    return capacity > used ? capacity - used : 0;
}

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

}  // namespace

void look_at_windows(Zone& zone) noexcept {
    (void)occupancies().of_windows(zone);
}

MemoryFigures memory_of(Zone& zone) noexcept {
    return {occupancies().of_windows(zone), zone.windows().capacity(), occupancies().of_debts(zone),
            zone.debts().capacity()};
}

void write_memory(JsonText& json, const Configuration& main) {
    Zone& zone = *main.zone;
    const MemoryFigures found = memory_of(zone);
    const PressureGauge& pressure = main.tallies->pressure();
    json.name("zone").begin_object();
    json.name("bytes").count(zone.size());
    json.name("windows").begin_object();
    json.name("capacity").count(found.window_capacity);
    json.name("open").count(found.windows.open).name("closed").count(found.windows.closed);
    json.name("estimated").boolean(!found.windows.exact).end_object();
    json.name("waiting").begin_object();
    json.name("capacity").count(found.waiting_capacity);
    json.name("used").count(found.waiting.open + found.waiting.closed).end_object();
    json.name("evicted").begin_object();
    json.name("copy").count(pressure.count(Pressure::evicted_copy));
    json.name("tokens").count(pressure.count(Pressure::evicted_tokens));
    json.name("local").count(pressure.count(Pressure::evicted_local)).end_object();
    json.name("full").count(pressure.count(Pressure::full));
    json.end_object();
}

void write_memory_metrics(MetricsText& text, const Configuration& main) {
    Zone& zone = *main.zone;
    const MemoryFigures found = memory_of(zone);
    const PressureGauge& pressure = main.tallies->pressure();
    text.family("zone_bytes", Type::gauge, "Bytes of the shared memory, by what they are for.");
    for (const auto& [part, bytes] : zone.parts()) {
        text.sample({{"part", part}}, std::uint64_t{bytes});
    }
    text.family("zone_records", Type::gauge, "Records in the shared memory; of many, an estimate.");
    const auto records = [&](std::string_view part, std::size_t capacity, std::size_t open,
                             std::size_t closed) {
        text.sample({{"part", part}, {"state", "open"}}, std::uint64_t{open});
        text.sample({{"part", part}, {"state", "closed"}}, std::uint64_t{closed});
        text.sample({{"part", part}, {"state", "free"}}, std::uint64_t{free_of(capacity, open + closed)});
    };
    records("windows", found.window_capacity, found.windows.open, found.windows.closed);
    records("waiting", found.waiting_capacity, found.waiting.open, found.waiting.closed);
    text.family("zone_evicted_total", Type::counter, "Open windows that were forgotten for want of room.");
    text.sample({{"kind", "copy"}}, pressure.count(Pressure::evicted_copy));
    text.sample({{"kind", "tokens"}}, pressure.count(Pressure::evicted_tokens));
    text.sample({{"kind", "local"}}, pressure.count(Pressure::evicted_local));
    text.family("zone_full_total", Type::counter, "Windows, and what waits, that found no room at all.");
    text.sample({}, pressure.count(Pressure::full));
}

}  // namespace rate_limit

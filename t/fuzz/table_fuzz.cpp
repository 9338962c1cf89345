// Random changes of a small table, compared with a map. In some of them the process that makes them dies, and
// another one goes on. The table never says anything but what the map knows, and forgets only what it may
// evict.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include <fuzzer/FuzzedDataProvider.h>

#include "core/machine/records.h"
#include "require.h"

namespace rate_limit {
namespace {

constexpr std::size_t windows = 92;  // four sets
constexpr unsigned id_count = 200;
constexpr Millis start = 1'700'000'000'000;

bool nobody_is_alive(const Process& /*process*/) {
    return false;
}

using Key = std::pair<std::uint64_t, std::uint64_t>;
using Model = std::map<Key, WindowRecord>;

Key key_of(const WindowRecord& record) {
    return {record.id.high, record.id.low};
}

struct alignas(WindowTable::alignment) Line {
    char bytes[WindowTable::alignment];
};

class Memory {
public:
    Memory() : lines_(std::make_unique<Line[]>(count)) {}
    void* at() { return lines_.get(); }
    static std::size_t size() { return count * sizeof(Line); }
    void copy(Memory& from) { std::memcpy(at(), from.at(), size()); }

private:
    static inline const std::size_t count = WindowTable::bytes_for(windows) / sizeof(Line);
    std::unique_ptr<Line[]> lines_;
};

/// Changes a record. Most windows get an end after that of the run: otherwise no set would ever be full.
void scribble(FuzzedDataProvider& data, Millis now, WindowRecord& record) {
    const unsigned bits = data.ConsumeIntegral<std::uint8_t>();
    if (bits % 16 != 2) {
        record.reset = now + (bits % 16 == 0 ? 0 : bits % 16 == 1 ? 1 : 1'000'000);
    }
    record.unanswered = (bits / 16) % 8 == 7 ? 1 : 0;
    record.truth = bits / 128 == 1 ? Truth::redis : Truth::local;
    const unsigned counts = data.ConsumeIntegral<std::uint8_t>();
    record.used = counts % 16;
    record.limit = counts / 16;
}

class Fuzzed {
public:
    explicit Fuzzed(FuzzedDataProvider& data) : data_(data) {
        require(table_.create(memory_.at(), Memory::size(), {1, 2}));
    }

    void step() {
        now_ += data_.ConsumeIntegralInRange<unsigned>(0, 15) == 0 ? 1 : 0;
        const unsigned number = data_.ConsumeIntegralInRange<unsigned>(0, id_count - 1);
        const WindowId id = table_.id_of({reinterpret_cast<const char*>(&number), sizeof(number)});
        using Action = void (Fuzzed::*)(const WindowId&);
        constexpr Action rare[] = {&Fuzzed::find, &Fuzzed::change, &Fuzzed::die_in_update, &Fuzzed::forget};
        const auto chosen = data_.ConsumeIntegralInRange<unsigned>(0, 15);
        (this->*(chosen < std::size(rare) ? rare[chosen] : &Fuzzed::update))(id);
        require_all_as_known();
    }

private:
    void require_all_as_known() {
        std::size_t count = 0;
        for (std::size_t set = 0; set < table_.sets(); ++set) {
            for (const Record& entry : table_.records_of(set)) {
                const auto record = entry.as<WindowRecord>();
                const auto [left, right] = table_.sets_of(record.id);
                require(set == left || set == right);
                const auto known = model_.find(key_of(record));
                require(known != model_.end() && known->second == record);
                ++count;
            }
        }
        require(count == model_.size());  // so no record is there twice
    }

    void find(const WindowId& id) {
        const auto known = model_.find({id.high, id.low});
        const auto record = table_.find<WindowRecord>(id);
        require(record.has_value() == (known != model_.end()));
        require(!record || *record == known->second);
    }

    void change(const WindowId& id) {
        const auto known = model_.find({id.high, id.low});
        const bool found = table_.change(id, [&](WindowRecord& record) {
            require(known != model_.end() && record == known->second);
            scribble(data_, now_, record);
            known->second = record;
        });
        require(found == (known != model_.end()));
        drop_if_no_window(known);
    }

    void forget(const WindowId& id) {
        if (table_.change(id, [](WindowRecord& record) { record.reset = 0; })) {
            require(model_.erase({id.high, id.low}) == 1);
        }
        require(!table_.find<WindowRecord>(id));
    }

    void update(const WindowId& id) {
        const auto known = model_.find({id.high, id.low});
        WindowRecord expected;
        expected.id = id;
        if (known != model_.end()) {
            expected = known->second;
        }
        WindowRecord made;
        const bool room = table_.update(id, now_, [&](WindowRecord& record) {
            require(record == expected);
            scribble(data_, now_, record);
            made = record;
        });
        if (!room) {
            require(known == model_.end());
            require_no_room(id);
            return;
        }
        if (known != model_.end()) {
            known->second = made;
            drop_if_no_window(known);
            return;
        }
        if (made.reset != 0) {
            forget_evicted(id);
            model_.emplace(key_of(made), made);
        }
    }

    /// Simulates the death of another process inside the function that update() calls: afterwards the memory
    /// is set back to what it was there.
    void die_in_update(const WindowId& id) {
        Memory inside;
        bool died = false;
        (void)table_.update(id, now_, [&](WindowRecord& record) {
            scribble(data_, now_, record);
            inside.copy(memory_);
            died = true;
        });
        if (died) {
            memory_.copy(inside);
            heirs_ += 1;
            table_.set_user({{heirs_, 0}, nobody_is_alive});
        } else {
            require_no_room(id);
        }
    }

    void drop_if_no_window(Model::iterator record) {
        if (record != model_.end() && record->second.reset == 0) {
            model_.erase(record);
        }
    }

    bool shares_a_set(const WindowId& a, const WindowId& b) const {
        const auto [left, right] = table_.sets_of(a);
        const auto [other_left, other_right] = table_.sets_of(b);
        return left == other_left || right == other_right;
    }

    void require_no_room(const WindowId& id) {
        const auto [left, right] = table_.sets_of(id);
        for (const std::size_t set : {left, right}) {
            const WindowTable::Records records = table_.records_of(set);
            require(records.count == WindowTable::Set::capacity);
            for (const Record& record : records) {
                require(eviction_rank(record, now_).tier == EvictionTier::never);
            }
        }
    }

    /// At most one record was evicted to make room. If its window was open, both sets were full of open
    /// windows, and none of these should have been evicted before it.
    void forget_evicted(const WindowId& id) {
        for (auto known = model_.begin(); known != model_.end(); ++known) {
            if (table_.find<WindowRecord>(known->second.id)) {
                continue;
            }
            const EvictionRank gone = eviction_rank(known->second, now_);
            require(gone.tier != EvictionTier::never);
            require(shares_a_set(id, known->second.id));
            const auto [left, right] = table_.sets_of(id);
            for (const std::size_t set : {left, right}) {
                for (const Record& record : table_.records_of(set)) {
                    const bool is_new = record.id == id;
                    require(is_new || gone.tier == EvictionTier::ended ||
                            !(eviction_rank(record, now_) < gone));
                }
                require(gone.tier == EvictionTier::ended ||
                        table_.records_of(set).count == WindowTable::Set::capacity);
            }
            model_.erase(known);
            return;
        }
    }

    FuzzedDataProvider& data_;
    Memory memory_;
    WindowTable table_{{{1, 0}, nobody_is_alive}};
    Model model_;
    Millis now_ = start;
    std::uint32_t heirs_ = 1;
};

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    FuzzedDataProvider data(bytes, size);
    rate_limit::Fuzzed fuzzed(data);
    while (data.remaining_bytes() > 0) {
        fuzzed.step();
    }
    return 0;
}

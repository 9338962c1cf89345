#include "core/counts/hot_key_board.h"

namespace rate_limit {

/// That of the shard, or one that it can have: a free one, or that of a shard which nobody has used in the
/// minute before. So whether there is one does not change within a minute.
std::size_t HotKeyBoard::place_for(std::uint64_t digest, std::uint64_t minute) const noexcept {
    const std::size_t own = board_.find<Part>([&](const Part& part) { return part.digest == digest; });
    return own != Sums::none ? own : board_.find<Part>([minute](const Part& part) {
        return part.minute + 1 < minute || part.minute > minute + 1;
    });
}

void HotKeyBoard::add(const Shard& shard, std::uint64_t minute, std::uint64_t commands, const HotKeys& keys,
                      std::uint32_t ticks) noexcept {
    if (shard.name.size() > most_name) {
        return;
    }
    Sums::Writing writing(board_);
    const std::size_t place = place_for(shard.digest, minute);
    if (place == Sums::none) {
        return;
    }
    Record record = board_.read(place);
    const bool of_shard = record.part.digest == shard.digest;
    const bool same = of_shard && record.part.minute == minute;
    if ((same && !record.part.untold) || (of_shard && record.part.minute == minute + 1)) {
        return;  // too late: the sum is taken, or others have begun with the next one
    }
    if (!same) {
        record.sum = {};
    }
    record.part = {shard.digest, minute, ticks, true};
    record.sum.store = shard.store;
    record.sum.commands += commands;
    record.sum.keys.join(keys);
    record.sum.name = shard.name;
    writing.write(place, record);
}

/// A minute that has yet to begin is one of before the clock was set back.
bool HotKeyBoard::Part::is_due(Millis now, std::uint32_t ticks) const noexcept {
    const auto begin = static_cast<Millis>(minute) * HotKeyBoard::minute;
    const bool ended = now < begin || now - begin >= HotKeyBoard::minute + patience;
    return untold && ended && ticks - added >= static_cast<std::uint32_t>(patience);
}

bool HotKeyBoard::take(Millis now, std::uint32_t ticks, Sum& sum) noexcept {
    const std::size_t place = board_.find<Part>([&](const Part& part) { return part.is_due(now, ticks); });
    return place != Sums::none && board_.change(place, [&](Record& record) {
        const bool is_due = record.part.is_due(now, ticks);
        record.part.untold = false;
        sum = record.sum;
        return is_due;
    });
}

}  // namespace rate_limit

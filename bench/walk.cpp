// The cost of looking after tokens at hand: the way over a table of waiting charges that is as large as it
// gets and full of notes of tokens, turn by turn as a worker's event loop makes them. In processor time of
// the thread, without what sending costs. Three times: nothing is due; all are, and stay; all are, and go
// back.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "core/machine/records.h"
#include "core/machine/windows/tokens.h"
#include "core/machine/workers/note_walk.h"
#include "core/table/process.h"

namespace {

using namespace rate_limit;

constexpr std::size_t notes_size = std::size_t{64} * 1024 * 1024;
constexpr std::size_t windows = 400'000;
constexpr std::size_t noted = 190'000;
constexpr std::int64_t period = 3600;
constexpr Millis now = 1'700'000'000'000;
constexpr Millis reset = now + period * 1000;
constexpr double most_milliseconds = 2;
bool too_long = false;  // some turn was

void* memory(std::size_t size) {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    return at;
}

double milliseconds() {
    timespec spent{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
}

struct Machine {
    Machine()
        : notes({process_of(static_cast<std::uint32_t>(::getpid())), is_alive}),
          table({process_of(static_cast<std::uint32_t>(::getpid())), is_alive}) {
        const std::size_t size = WindowTable::bytes_for(windows);
        if (!notes.create(memory(notes_size), notes_size, {1, 2}) ||
            !table.create(memory(size), size, {3, 4})) {
            std::exit(1);
        }
    }

    /// A window with tokens at hand, and their note.
    bool add(const std::string& key) {
        const WindowId id = table.id_of(key);
        const bool room = table.update(id, now, [](WindowRecord& record) {
            record.reset = reset;
            record.confirmed = true;
            record.truth = Truth::redis;
            record.limit = 1'000'000;
            record.used = 1000;
            record.leased = 400;
        });
        return room && notes.update(note_id_of(id), now, [&](DebtRecord& note) {
            note.kind = DebtKind::tokens;
            note.reset = reset;
            note.tokens = {1000, now, period};
            note.set_key(key);
        });
    }

    /// Looks as Fetches::look() does.
    Looked look(const Noted& seen, Millis at) {
        DebtRecord note;
        notes.change(seen.id, [&](DebtRecord& open) {
            note = open;
            open.tokens.looked_at = at;
        });
        std::int64_t back = 0;
        std::int64_t left = 0;
        table.change(window_id_of(seen.id, note), [&](WindowRecord& record) {
            back = take_surplus(record,
                                {note.tokens.count, note.tokens.looked_at, at, note.tokens.period, false});
            left = at_hand(record);
        });
        notes.change(seen.id, [&](DebtRecord& open) {
            open.tokens.count = left;
            open.reset = note.tokens.count == back ? 0 : open.reset;
        });
        return back != 0 ? Looked::given_back : Looked::kept;
    }

    /// Counts tokens as the upkeep does.
    void see(const Seen& seen) {
        const auto record = table.find<WindowRecord>(seen.id);
        tokens += record ? at_hand(*record) : 0;
    }

    DebtTable notes;
    WindowTable table;
    std::int64_t tokens = 0;
};

void round(Machine& machine, const char* what, Millis at) {
    NoteWalk walk;
    walk.begin({0, machine.notes.sets()});
    std::vector<double> turns;
    NoteWalk::Turn sum;
    while (!walk.idle()) {
        const double before = milliseconds();
        const NoteWalk::Turn turn = walk.turn(
            machine.notes, NoteWalk::Aim::due, at, 0, [&](const Seen& seen) { machine.see(seen); },
            [&](const Noted& seen) { return machine.look(seen, at); });
        turns.push_back(milliseconds() - before);
        sum.looks += turn.looks;
        sum.refunds += turn.refunds;
    }
    std::sort(turns.begin(), turns.end());
    double all = 0;
    for (const double turn : turns) {
        all += turn;
    }
    too_long = too_long || turns.back() > most_milliseconds;
    std::printf(
        "%-26s %6zu looked at, %6zu given back: %5zu turns of %.3f ms (longest %.3f%s), in all %.1f ms\n",
        what, sum.looks, sum.refunds, turns.size(), turns[turns.size() / 2], turns.back(),
        turns.back() > most_milliseconds ? ", TOO LONG" : "", all);
}

}  // namespace

int main() {
    Machine machine;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < noted; ++i) {
        kept += machine.add("rl:core/3600:user:" + std::to_string(i)) ? 1 : 0;
    }
    std::printf("notes of %zu windows in %zu sets\n", kept, machine.notes.sets());
    const Millis interval = lease_interval(period);
    round(machine, "nothing is due", now);
    round(machine, "all are due, and in use", now + interval);  // 600 of 1000 are spent
    round(machine, "all are due, and idle", now + 2 * interval);
    return too_long ? 1 : 0;
}

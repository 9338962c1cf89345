#include "limiter/regions/regional_read.h"

#include <algorithm>

#include "limiter/store/store.h"

namespace rate_limit {

namespace {

constexpr const char* too_late_there =
    "no answer in check_timeout: let that be longer than the way there and back, or name replicas that stand "
    "nearer by \"replica=\"";

}  // namespace

void RegionalRead::start(const WindowPlace& place, Read::From from, Elsewhere& elsewhere,
                         Answer::Owner& owner) noexcept {
    shared_ = false;
    Shard& here = place.store->at(place.route);
    ask(elsewhere, here.deadlines(), owner, [&](RegionPart& part) {
        const bool is_here = &part == elsewhere.here;
        if (!is_here) {
            part.read.remember_late(part.window);
        }
        part.read.start(part.store->at(place.route), place.key, is_here ? from : Read::From::any_node, *this);
    });
}

void RegionalRead::start_shared(const WindowPlace& place, const ReadAs& as, Elsewhere& elsewhere,
                                Answer::Owner& owner) noexcept {
    shared_ = true;
    ask(elsewhere, place.store->at(place.route).deadlines(), owner, [&](RegionPart& part) {
        part.store->shared_reads().read(part.shared, part.store->at(place.route), place.key, part.window.id,
                                        as, *this);
    });
}

/// The region here comes first: its deadline comes before this one's.
template <typename Ask>
void RegionalRead::ask(Elsewhere& elsewhere, Deadlines& deadlines, Answer::Owner& owner,
                       Ask ask_part) noexcept {
    elsewhere_ = &elsewhere;
    busy_ = true;
    pending_ = 1 + elsewhere.count;
    ask_part(*elsewhere.here);
    for (RegionPart& part : elsewhere) {
        part.answered = false;
        part.failure = nullptr;
        ask_part(part);
    }
    begin(deadlines, nullptr, owner);
    busy_ = false;
    finish_if_done();
}

Answer& RegionalRead::question(RegionPart& part) const noexcept {
    return shared_ ? static_cast<Answer&>(part.shared) : part.read;
}

void RegionalRead::give_up(RegionPart& part) const noexcept {
    shared_ ? part.shared.cancel() : part.read.abandon();
}

void RegionalRead::on_answer(Answer& answer) noexcept {
    --pending_;
    for (RegionPart& part : *elsewhere_) {
        if (&question(part) == &answer) {
            part.failure = answer.failure();
            part.answered = part.failure == nullptr;
            part.told = answer.window();
        }
    }
    if (!busy_) {
        finish_if_done();
    }
}

/// The stores of other regions judge their deadlines by themselves, perhaps after this.
void RegionalRead::deadline_passed() noexcept {
    busy_ = true;
    for (RegionPart& part : *elsewhere_) {
        if (question(part).waiting()) {
            part.store->read_answers();
        }
    }
    busy_ = false;
    finish();
}

void RegionalRead::finish_if_done() noexcept {
    const Answer& here = question(*elsewhere_->here);
    if (pending_ == 0 || (!here.waiting() && here.failure() != nullptr)) {
        finish();
    }
}

void RegionalRead::finish() noexcept {
    const Answer& here = question(*elsewhere_->here);
    const char* const failure = here.waiting() ? too_late : here.failure();
    window_ = here.window();
    give_up(*elsewhere_->here);
    for (RegionPart& part : *elsewhere_) {
        const bool late = (failure == nullptr || failure == too_late) &&
                          (question(part).waiting() || part.failure == too_late);
        part.failure = late ? too_late_there : part.failure;
        give_up(part);
    }
    end(failure);
}

void RegionalRead::cancel() noexcept {
    if (waiting()) {
        give_up(*elsewhere_->here);
        std::for_each(elsewhere_->begin(), elsewhere_->end(), [this](RegionPart& part) { give_up(part); });
        stop();
    }
}

}  // namespace rate_limit

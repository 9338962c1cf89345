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
    elsewhere_ = &elsewhere;
    busy_ = true;
    pending_ = 1 + elsewhere.count;
    Shard& here = place.store->at(place.route);
    elsewhere.here->start(here, place.key, from, *this);  // its deadline comes before this one's
    for (RegionPart& part : elsewhere) {
        part.answered = false;
        part.failure = nullptr;
        part.read.remember_late(part.window);
        part.read.start(part.store->at(place.route), place.key, Read::From::any_node, *this);
    }
    begin(here.deadlines(), nullptr, owner);
    busy_ = false;
    finish_if_done();
}

void RegionalRead::on_answer(Answer& answer) noexcept {
    --pending_;
    for (RegionPart& part : *elsewhere_) {
        if (&part.read == &answer) {
            part.failure = answer.failure();
            part.answered = part.failure == nullptr;
        }
    }
    if (!busy_) {
        finish_if_done();
    }
}

/// The stores of other regions judge their deadlines by themselves, perhaps after this.
void RegionalRead::deadline_passed() noexcept {
    busy_ = true;
    for (const RegionPart& part : *elsewhere_) {
        if (part.read.waiting()) {
            part.store->read_answers();
        }
    }
    busy_ = false;
    finish();
}

void RegionalRead::finish_if_done() noexcept {
    const Read& here = *elsewhere_->here;
    if (pending_ == 0 || (!here.waiting() && here.failure() != nullptr)) {
        finish();
    }
}

void RegionalRead::finish() noexcept {
    const Read& here = *elsewhere_->here;
    const char* const failure = here.waiting() ? too_late : here.failure();
    window_ = here.window();
    elsewhere_->here->abandon();
    for (RegionPart& part : *elsewhere_) {
        const bool late =
            (failure == nullptr || failure == too_late) && (part.read.waiting() || part.failure == too_late);
        part.failure = late ? too_late_there : part.failure;
        part.read.abandon();
    }
    end(failure);
}

void RegionalRead::cancel() noexcept {
    if (waiting()) {
        elsewhere_->here->abandon();
        std::for_each(elsewhere_->begin(), elsewhere_->end(), [](RegionPart& part) { part.read.abandon(); });
        stop();
    }
}

}  // namespace rate_limit

#include "limiter/regions/regional_read.h"

#include <algorithm>

#include "limiter/store/store.h"

namespace rate_limit {

namespace {

constexpr const char* too_late_there =
    "no answer in check_timeout: let that be longer than the way there and back, or name replicas that stand "
    "nearer by \"replica=\"";

}  // namespace

/// The region here comes first: its deadline comes before this one's.
void RegionalRead::start(const WindowPlace& place, Read::From from, Elsewhere& elsewhere,
                         Answer::Owner& owner) noexcept {
    begin_asking(place, elsewhere);
    std::for_each(elsewhere.here, elsewhere.end(), [&](RegionPart& part) {
        const bool is_here = &part == elsewhere.here;
        part.asked = &part.read;
        part.read.remember_late(is_here ? nullptr : &part.window);
        part.read.start(part.store->at(route_), place.key, is_here ? from : Read::From::any_node, *this);
    });
    end_asking(place, owner);
}

void RegionalRead::start_shared(const WindowPlace& place, const ReadAs& as, Elsewhere& elsewhere,
                                Answer::Owner& owner) noexcept {
    begin_asking(place, elsewhere);
    std::for_each(elsewhere.here, elsewhere.end(), [&](RegionPart& part) {
        part.asked = &part.shared;
        part.store->shared_reads().read(part.shared, part.store->at(route_), place.key, part.window.id, as,
                                        *this);
    });
    end_asking(place, owner);
}

void RegionalRead::begin_asking(const WindowPlace& place, Elsewhere& elsewhere) noexcept {
    elsewhere_ = &elsewhere;
    route_ = place.route;
    busy_ = true;
    pending_ = 1 + elsewhere.count;
}

void RegionalRead::end_asking(const WindowPlace& place, Answer::Owner& owner) noexcept {
    begin(place.store->at(route_).deadlines(), nullptr, owner);
    busy_ = false;
    finish_if_done();
}

void RegionalRead::on_answer(Answer& /*answer*/) noexcept {
    --pending_;
    if (!busy_) {
        finish_if_done();
    }
}

/// The stores of other regions judge their deadlines by themselves, perhaps after this.
void RegionalRead::deadline_passed() noexcept {
    busy_ = true;
    for (RegionPart& part : *elsewhere_) {
        if (part.asked->waiting()) {
            part.store->at(route_).nodes().read_now();
        }
    }
    busy_ = false;
    finish();
}

void RegionalRead::finish_if_done() noexcept {
    const Answer& here = *elsewhere_->here->asked;
    if (pending_ == 0 || (!here.waiting() && here.failure() != nullptr)) {
        finish();
    }
}

void RegionalRead::finish() noexcept {
    const Answer& here = *elsewhere_->here->asked;
    const char* const failure = here.waiting() ? too_late : here.failure();
    window_ = here.window();
    elsewhere_->here->asked->abandon();
    for (RegionPart& part : *elsewhere_) {
        Answer& answer = *part.asked;
        const bool late = answer.waiting() || answer.failure() == too_late;
        part.answered = !late && answer.failure() == nullptr;
        if (failure == nullptr) {
            part.failure = late ? too_late_there : answer.failure();
        }
        answer.abandon();
    }
    end(failure);
}

void RegionalRead::cancel() noexcept {
    if (waiting()) {
        std::for_each(elsewhere_->here, elsewhere_->end(), [](RegionPart& part) { part.asked->abandon(); });
        stop();
    }
}

}  // namespace rate_limit

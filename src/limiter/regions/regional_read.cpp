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
    ask(place, elsewhere, owner, [&](RegionPart& part) {
        auto& read = part.asked.emplace<Read>();
        const bool is_here = &part == elsewhere.here;
        if (!is_here) {
            read.remember_late(part.window);
        }
        read.start(part.store->at(route_), place.key, is_here ? from : Read::From::any_node, *this);
    });
}

void RegionalRead::start_shared(const WindowPlace& place, const ReadAs& as, Elsewhere& elsewhere,
                                Answer::Owner& owner) noexcept {
    ask(place, elsewhere, owner, [&](RegionPart& part) {
        part.store->shared_reads().read(part.asked.emplace<SharedRead>(), part.store->at(route_), place.key,
                                        part.window.id, as, *this);
    });
}

/// The region here comes first: its deadline comes before this one's.
template <typename Ask>
void RegionalRead::ask(const WindowPlace& place, Elsewhere& elsewhere, Answer::Owner& owner,
                       Ask ask_part) noexcept {
    elsewhere_ = &elsewhere;
    route_ = place.route;
    busy_ = true;
    pending_ = 1 + elsewhere.count;
    ask_part(*elsewhere.here);
    std::for_each(elsewhere.begin(), elsewhere.end(), ask_part);
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
        if (part.answer()->waiting()) {
            part.store->at(route_).nodes().read_now();
        }
    }
    busy_ = false;
    finish();
}

void RegionalRead::finish_if_done() noexcept {
    const Answer& here = *elsewhere_->here->answer();
    if (pending_ == 0 || (!here.waiting() && here.failure() != nullptr)) {
        finish();
    }
}

void RegionalRead::finish() noexcept {
    const Answer& here = *elsewhere_->here->answer();
    const char* const failure = here.waiting() ? too_late : here.failure();
    window_ = here.window();
    elsewhere_->here->answer()->abandon();
    for (RegionPart& part : *elsewhere_) {
        Answer& answer = *part.answer();
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
        std::for_each(elsewhere_->here, elsewhere_->end(),
                      [](RegionPart& part) { part.answer()->abandon(); });
        stop();
    }
}

}  // namespace rate_limit

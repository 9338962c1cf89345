#include "limiter/wire/health/server_log.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>

#include "limiter/worker.h"
#include "redis/server_words.h"

namespace rate_limit {

namespace {

/// A duration as "1.5", in seconds.
struct Seconds {
    explicit Seconds(Msec time) noexcept : whole(time / 1000), tenths(time % 1000 / 100) {}
    Msec whole;
    Msec tenths;
};

}  // namespace

/// True for a reason that this outage did not have before, or had without words only. Other words are not
/// new: a server may say the time.
bool OutageLog::note(std::string_view reason, std::string_view words) {
    reason_.assign(reason);
    if (!words.empty()) {
        reason_.append(" (").append(words).append(")");
    }
    const auto known = std::find_if(reasons_.begin(), reasons_.end(),
                                    [reason](const Reason& one) { return one.text == reason; });
    if (known != reasons_.end()) {
        const bool first_words = !words.empty() && !known->with_words;
        known->with_words |= first_words;
        return first_words;
    }
    if (reasons_.size() == most_reasons) {
        reasons_.erase(reasons_.begin());
    }
    reasons_.push_back({std::string(reason), !words.empty()});
    return true;
}

void OutageLog::failed(const char* what, std::string_view reason, std::string_view words) noexcept {
    bool tells = !lasts_;
    if (!lasts_) {
        lasts_ = true;
        since_ = msec_now();
        ++outages_;
        reasons_.clear();
    }
    try {
        tells = note(reason, words) || tells;
    } catch (...) {
        // without memory the line gives an older reason, or none
    }
    what_ = what;
    if (tells || msec_now() - told_at_ >= reminder) {
        throttle_.tell(process_log());
    }
}

void OutageLog::write(void* self, Log& log) noexcept {
    auto& outage = *static_cast<OutageLog*>(self);
    const char* reason = outage.reason_.c_str();
    const Seconds lasted(msec_now() - outage.since_);
    if (outage.outages_ > 1) {
        log_line(log, outage.level_, "rate limit: %s %s: %s (%" PRIu64 " outages since the last such line%s)",
                 outage.subject_.c_str(), outage.what_, reason, outage.outages_,
                 outage.lasts_ ? "" : "; it is over");
    } else if (!outage.lasts_) {
        log_line(log, outage.level_, "rate limit: %s %s: %s (it is over)", outage.subject_.c_str(),
                 outage.what_, reason);
    } else if (outage.outages_ == 1) {
        log_line(log, outage.level_, "rate limit: %s %s: %s", outage.subject_.c_str(), outage.what_, reason);
    } else {
        log_line(log, outage.level_, "rate limit: %s %s, for %" PRIuPTR ".%" PRIuPTR " s by now: %s",
                 outage.subject_.c_str(), outage.what_, lasted.whole, lasted.tenths, reason);
    }
    outage.told_ = outage.lasts_;
    outage.told_at_ = msec_now();
    outage.outages_ = 0;
}

void OutageLog::ended(const char* how) noexcept {
    if (!lasts_) {
        return;
    }
    lasts_ = false;
    if (told_) {
        const Seconds lasted(msec_now() - since_);
        told_ = false;
        throttle_.forget();  // a further reason of what is over
        log_line(process_log(), level_, "rate limit: %s %s after %" PRIuPTR ".%" PRIuPTR " s",
                 subject_.c_str(), how, lasted.whole, lasted.tenths);
    }
}

struct NewcomerLog::All {
    static constexpr WorkerPart part = WorkerPart::newcomers;

    std::map<std::string, NewcomerLog> of_stores;
};

NewcomerLog& NewcomerLog::of(const std::string& store) {
    return Worker::current().part<All>().of_stores.try_emplace(store, store).first->second;
}

bool NewcomerLog::admit() noexcept {
    if (admitted_ == 0 || msec_now() - minute_ >= minute) {
        minute_ = msec_now();
        admitted_ = 0;
    }
    return admitted_ < most_in_a_minute && ++admitted_ != 0;
}

void NewcomerLog::hold_back(std::string_view subject, const char* what, std::string_view reason) {
    last_.assign(subject).append(" ").append(what).append(": ").append(reason);
    ++held_back_;
    throttle_.tell(process_log());
}

void NewcomerLog::write(void* self, Log& log) noexcept {
    NewcomerLog& newcomers = *static_cast<NewcomerLog*>(self);
    log_line(log, LogLevel::error,
             "rate limit: %" PRIu64
             " more servers that servers of \"%s\" name have not been up yet; the last "
             "one: %s",
             newcomers.held_back_, newcomers.store_.c_str(), newcomers.last_.c_str());
    newcomers.held_back_ = 0;
}

void AnswerLog::add(Fault fault, std::string_view command, const Reply& reply) noexcept {
    try {
        std::unique_ptr<Line>& line = lines_[static_cast<std::size_t>(fault)];
        if (line == nullptr) {
            line = std::make_unique<Line>(*this, fault);
        }
        line->words = reply.is_error() ? server_words(command, reply.text_view()) : std::string(command);
        ++line->count;
        line->throttle.tell(process_log());
    } catch (...) {
        // without memory the counters have to do
    }
}

void AnswerLog::Line::write(void* self, Log& log) noexcept {
    Line& line = *static_cast<Line*>(self);
    char counted[64] = "";
    if (line.count > 1) {
        (void)std::snprintf(counted, sizeof counted, " (%" PRIu64 " such answers since the last such line)",
                            line.count);
    }
    line.count = 0;
    log_line(log, LogLevel::error, "rate limit: %s answered %s: %s%s", line.owner.subject_.c_str(),
             line.words.c_str(), explain(line.fault), counted);
}

}  // namespace rate_limit

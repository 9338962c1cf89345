#include "ngx/request/missing.h"

#include <cstdint>
#include <new>
#include <utility>

#include "limiter/request/late_watch.h"
#include "limiter/tallies/tallies.h"
#include "ngx/conf/key.h"
#include "ngx/values/kept_variables.h"
#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

/// A line of the log takes some microseconds. Where a request finds more, the next ones tell the others.
constexpr std::size_t most_told = 20;

/// Lives in the request's pool.
struct Note {
    const LimitLine& limit;
    Missing what;
    std::int64_t counted;
    bool there = false;
    Note* next = nullptr;
};

/// All notes of one request, which is found on the list of cleanups of its pool.
struct Notes {
    Note* first = nullptr;
    Note** end = &first;
};

std::size_t noted = 0;  // how many requests of this worker have notes

void on_notes_cleanup(void* /*notes*/) noexcept {
    --noted;
}

Notes* find_notes(ngx_http_request_t* r) noexcept {
    return noted != 0 ? find_at_end<Notes>(*r->pool, on_notes_cleanup) : nullptr;
}

/// Null without memory.
Notes* make_notes(ngx_http_request_t* r) noexcept {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, sizeof(Notes));
    if (cleanup == nullptr) {
        return nullptr;
    }
    cleanup->handler = on_notes_cleanup;
    ++noted;
    return new (cleanup->data) Notes;
}

/// A value of a line, and the noun for it.
struct Said {
    const Value& value;
    const char* noun;
};

Said said_of(const LimitLine& limit, Missing what) noexcept {
    switch (what) {
        case Missing::rate:
            return {limit.rate_text, limit.kind->amount};
        case Missing::burst:
            return {*limit.burst_text, "burst"};
        case Missing::cost:
            return {*limit.cost, "cost"};
        case Missing::key:
            break;
    }
    return {limit.key->value, "key"};
}

/// Holds back what nginx would log meanwhile.
class Quiet {
public:
    explicit Quiet(ngx_log_t& log) noexcept
        : log_(log), level_(std::exchange(log.log_level, NGX_LOG_STDERR)) {}
    ~Quiet() { log_.log_level = level_; }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

private:
    ngx_log_t& log_;
    const ngx_uint_t level_;
};

bool is_there(ngx_http_request_t* r, const Note& note) noexcept {
    if (note.what == Missing::cost && r->post_action != 0) {
        return false;  // it would be that of another response
    }
    ngx_str_t text;
    if (note.what == Missing::cost) {
        std::int64_t cost = note.counted;
        return read_cost(r, *note.limit.cost, cost, text) == CostReading::number && cost != note.counted;
    }
    if (evaluate_value(r, said_of(note.limit, note.what).value, text) != NGX_OK || text.len == 0) {
        return false;
    }
    if (view(text) == "off" && (note.what == Missing::rate || note.what == Missing::burst)) {
        return false;  // the limit would not apply either
    }
    return true;
}

/// The remedy where a key, rate, burst or number is not there in time: by the variables that it is made of,
/// those that maps look at, too.
const char* remedy_of(ngx_http_request_t* r, const Note& note, KeptVariables& variables) noexcept {
    const Quiet quiet(*r->connection->log);
    variables.forget();
    ngx_str_t text;
    (void)evaluate_value(r, said_of(note.limit, note.what).value, text);
    if (variables.has_found(is_of_body)) {
        return "nothing has read the request's body by then; use a header or an argument, or, from nginx "
               "1.31.5 on, turn \"client_body_early_read\" on";
    }
    if (note.limit.phase == static_cast<ngx_uint_t>(Phase::precontent) ||
        variables.has_found(is_of_response)) {
        return "it is set after the precontent phase; use what the request itself says";
    }
    if (variables.has_found(is_of_decision)) {
        return "this module sets it when it has checked the limits of the access phase; beside such a limit "
               "add \"phase=precontent\", or use what the request itself says";
    }
    return "add \"phase=precontent\", or use what the request itself says";
}

void tell_cost(ngx_log_t* log, const Note& note) noexcept {
    const LimitLine& limit = note.limit;
    const ngx_str_t name = str(limit.name);
    ngx_log_error(
        NGX_LOG_ERR, log, 0,
        "the cost of rate limit \"%V\" in %V:%ui is not there yet when the header is sent, and counts as %L; "
        "when the request ends it is: add \"mode=charge_refund\", which evaluates it then, too",
        &name, &limit.file, limit.line, note.counted);
}

void tell(ngx_http_request_t* r, const Note& note, KeptVariables& variables) noexcept {
    const LimitLine& limit = note.limit;
    const ngx_str_t name = str(limit.name);
    if (note.what == Missing::cost) {
        tell_cost(r->connection->log, note);
        return;
    }
    const char* remedy = remedy_of(r, note, variables);
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "the %s of rate limit \"%V\" in %V:%ui is empty when the limit is checked, so that %s, and "
                  "is there when the request ends: %s",
                  said_of(limit, note.what).noun, &name, &limit.file, limit.line,
                  note.what == Missing::burst ? "no bucket counts" : "it does not apply", remedy);
}

using MarkWord = std::uint64_t;
constexpr std::size_t bits_of_word = 64;

/// By this the marks are found on the pool's cleanup list. The request has no context that could keep them:
/// where no limit applies, it gets none.
void on_marks_cleanup(void* /*marks*/) noexcept {}

/// Marks of what has counted the request as one without a key: a bit for each line, and one for each tally
/// behind those. Null without memory.
MarkWord* marks_of(ngx_http_request_t* r) noexcept {
    if (auto* const marks = find_at_end<MarkWord>(*r->pool, on_marks_cleanup)) {
        return marks;
    }
    const MainConf& main = *main_conf(r);
    const std::size_t words = (main.line_count + main.tallies->all().size()) / bits_of_word + 1;
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, words * sizeof(MarkWord));
    if (cleanup == nullptr) {
        return nullptr;
    }
    cleanup->handler = on_marks_cleanup;
    ngx_memzero(cleanup->data, words * sizeof(MarkWord));
    return static_cast<MarkWord*>(cleanup->data);
}

/// True if it was marked before.
bool mark(MarkWord* marks, std::size_t number) noexcept {
    if (marks == nullptr) {
        return false;
    }
    MarkWord* const word = marks + number / bits_of_word;
    const MarkWord bit = MarkWord{1} << number % bits_of_word;
    const bool before = (*word & bit) != 0;
    *word |= bit;
    return before;
}

[[gnu::noinline]] void count_no_key(ngx_http_request_t* r, const LimitLine& limit,
                                    Counters<Decided>& counters) noexcept {
    MarkWord* const marks = marks_of(r);
    if (!mark(marks, limit.watch->number())) {
        counters.miss(mark(marks, main_conf(r)->line_count + limit.tally_without_key));
    }
}

}  // namespace

void note_missing(const RequestContext& context, const LimitLine& limit, Missing what,
                  std::int64_t counted) noexcept {
    const Value& value = said_of(limit, what).value;
    if (value.is_constant() || (value.too_early && what != Missing::cost) || context.conf().report ||
        !limit.watch->may_look(what, ngx_current_msec)) {
        return;
    }
    ngx_http_request_t* r = context.request();
    Notes* const found = find_notes(r);
    Notes* const notes = found != nullptr ? found : make_notes(r);
    void* const memory = notes != nullptr ? ngx_palloc(r->pool, sizeof(Note)) : nullptr;
    if (memory != nullptr) {
        *notes->end = new (memory) Note{limit, what, counted};
        notes->end = &(*notes->end)->next;
    }
}

/// All values are evaluated together: a location may have a thousand limits, and nginx a thousand variables.
void look_at_missing(ngx_http_request_t* r) noexcept {
    const Notes* const notes = find_notes(r);
    if (notes == nullptr) {
        return;
    }
    KeptVariables variables(r);
    const bool looked = variables.evaluate_anew([r, notes] {
        const Quiet quiet(*r->connection->log);
        for (Note* note = notes->first; note != nullptr; note = note->next) {
            note->there = is_there(r, *note);
        }
    });
    std::size_t told = 0;
    for (const Note* note = notes->first; looked && told < most_told && note != nullptr; note = note->next) {
        if (note->there && note->limit.watch->tell(note->what)) {
            ++told;
            tell(r, *note, variables);
        }
    }
}

void count_key(RequestContext& context, const LimitLine& limit, bool has_key) noexcept {
    if (context.conf().report) {
        return;
    }
    Counters<Decided>& counters = main_conf(context.request())->tallies->counters_without_key(limit);
    if (has_key) {
        counters.hit();
    } else {
        count_no_key(context.request(), limit, counters);
    }
}

}  // namespace rate_limit

#include "operator/acts/act_result.h"

#include <array>
#include <utility>

#include "core/text/json_text.h"
#include "operator/figures/id_text.h"
#include "operator/figures/period_text.h"

namespace rate_limit {

namespace {

struct ErrorName {
    unsigned status;
    const char* code;
};

constexpr std::array<ErrorName, static_cast<std::size_t>(ActError::in_doubt) + 1> names{{
    {200, ""},
    {400, "BadParameter"},
    {403, "Forbidden"},
    {403, "CrossOrigin"},
    {404, "PathNotFound"},
    {404, "UnknownLimit"},
    {405, "MethodNotAllowed"},
    {409, "Ambiguous"},
    {409, "Full"},
    {409, "Conflict"},
    {413, "PayloadTooLarge"},
    {415, "UnsupportedMediaType"},
    {503, "StoreUnavailable"},
    {503, "InDoubt"},
}};

void write_id(JsonText& json, const std::optional<std::uint64_t>& id) {
    json.name("id");
    if (!id) {
        json.null();
        return;
    }
    json.text(IdText(*id).view());
}

void write_override(JsonText& json, const std::optional<SeenOverride>& override) {
    json.name("override");
    if (!override) {
        json.null();
        return;
    }
    json.begin_object();
    json.name("kind").text(override->kind);
    json.name("percent");
    if (override->percent) {
        json.number(*override->percent);
    } else {
        json.null();
    }
    json.name("from").time(override->from);
    json.name("until").time(override->until);
    json.name("by").text(override->by);
    json.name("scope").text(override->scope);
    json.end_object();
}

void write_window(JsonText& json, const SeenWindow& window) {
    json.begin_object();
    write_period(json, window.period, window.kind == WindowKind::month);
    json.name("window").text(name_of(window.kind));
    json.name("open").boolean(window.open);
    json.name("limit").number(window.limit);
    json.name("used").number(window.used);
    json.name("remaining").number(window.remaining);
    json.name("reset");
    if (window.reset != 0) {
        json.time(window.reset);
    } else {
        json.null();
    }
    json.name("in_flight").number(window.in_flight);
    json.name("tokens").number(window.tokens);
    json.name("waiting").number(window.waiting);
    json.name("source").text(window.from_primary ? "primary" : "memory");
    json.end_object();
}

void write_slots(JsonText& json, const std::optional<SeenSlots>& slots) {
    json.name("slots");
    if (!slots) {
        json.null();
        return;
    }
    json.begin_object();
    json.name("limit").number(slots->limit);
    json.name("running").number(slots->running);
    json.name("remaining").number(slots->remaining);
    for (const auto& [name, held] : {std::pair{"held", slots->here}, {"held_elsewhere", slots->elsewhere}}) {
        json.name(name);
        if (slots->shared) {
            json.number(held);
        } else {
            json.null();
        }
    }
    json.name("source").text(slots->shared ? "primary" : "memory");
    json.end_object();
}

void write_limit(JsonText& json, const SeenLimit& limit) {
    json.begin_object();
    json.name("limit").text(limit.limit);
    json.name("store").text(limit.store);
    write_id(json, limit.id);
    json.name("key");
    if (limit.key) {
        json.text(*limit.key);
    } else {
        json.null();
    }
    write_override(json, limit.override);
    json.name("windows").begin_array();
    for (const SeenWindow& window : limit.windows) {
        write_window(json, window);
    }
    json.end_array();
    write_slots(json, limit.slots);
    json.end_object();
}

class ActJson final : public Document {
public:
    explicit ActJson(const ActResult& result) : result_(result) {}

    bool write_more() override {
        if (result_.error != ActError::none) {
            json_.begin_object();
            json_.name("error").text(code_of(result_.error));
            json_.name("description").words(result_.description);
            json_.end_object();
            return false;
        }
        if (next_ == 0 && !result_.named) {
            json_.begin_array();
        }
        if (next_ < result_.limits.size()) {
            write_limit(json_, result_.limits[next_++]);
        }
        const bool more = next_ < result_.limits.size();
        if (!more && !result_.named) {
            json_.end_array();
        }
        return more;
    }

    std::string take() override { return json_.take() + "\n"; }

private:
    const ActResult& result_;
    JsonText json_;
    std::size_t next_ = 0;
};

}  // namespace

unsigned status_of(ActError error) noexcept {
    return names[static_cast<std::size_t>(error)].status;
}

const char* code_of(ActError error) noexcept {
    return names[static_cast<std::size_t>(error)].code;
}

std::unique_ptr<Document> tell_act_json(const ActResult& result) {
    return std::make_unique<ActJson>(result);
}

std::string write_act_json(const ActResult& result) {
    return write_whole(*tell_act_json(result));
}

}  // namespace rate_limit

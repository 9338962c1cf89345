#include "operator/acts/act_result.h"

#include <array>

#include "core/text/figure_text.h"
#include "limiter/loop.h"
#include "operator/figures/overrides.h"
#include "operator/figures/words.h"

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

Figure times(const SeenWindow& window) {
    return window.reset == 0 ? "–" : utc(window.reset) + ", in " + duration(window.reset - now_millis());
}

Figure reset(const SeenWindow& window) {
    return window.reset != 0 ? Figure(Moment{window.reset}) : Figure();
}

Figure state(const SeenWindow& window) {
    return std::string_view(window.open ? window.kind->open : window.kind->closed);
}

Figure most(const SeenWindow& window) {
    return window.rate.limit;
}

void write_period(JsonText& json, const SeenWindow& window) {
    write_period(json, window.rate);
}

template <auto held>
Figure if_shared(const SeenSlots& slots) {
    return slots.shared ? Figure(slots.*held) : Figure();
}

void write_regions(JsonText& json, const SeenWindow& window) {
    if (window.regions.empty()) {
        json.null();
        return;
    }
    json.begin_array();
    for (const SeenRegion& region : window.regions) {
        json.begin_object().name("region").text(region.name).name("used").number(region.used);
        json.name("here").boolean(region.here);
        json.name("source").text(region.here ? "primary" : region.told ? "replica" : "memory").end_object();
    }
    json.end_array();
}

// The source of that, for programs and for people.
template <auto primary, typename Seen>
Figure source(const Seen& seen) {
    return std::string_view(seen.*primary ? "primary" : "memory");
}
template <auto primary, typename Seen>
Figure known_by(const Seen& seen) {
    return std::string_view(seen.*primary ? "the primary" : "the memory of this machine");
}

constexpr Column<SeenWindow> window_list[] = {
    {"period", {}, {}, nullptr, write_period},
    {"window", {}, {}, field<&SeenWindow::kind, &NamedKind::name>},
    {{}, {"Window"}, {}, state},
    {"open", {}, {}, field<&SeenWindow::open>},
    {"limit", {"Limit", true}, {}, most},
    {"used", {"Used", true}, {}, field<&SeenWindow::used>},
    {"remaining", {"Remaining", true}, {}, field<&SeenWindow::remaining>},
    {"reset", {}, {}, reset},
    {{}, {"Ends"}, {}, times},
    {"in_flight", {"In flight here", true}, {}, field<&SeenWindow::in_flight>},
    {"tokens", {"Tokens here", true}, {}, field<&SeenWindow::tokens>},
    {"waiting", {"Waiting here", true}, {}, field<&SeenWindow::waiting>},
    {"source", {}, {}, source<&SeenWindow::from_primary>},
    {{}, {"As known by"}, {}, known_by<&SeenWindow::from_primary>},
    {"regions", {}, {}, nullptr, write_regions},
};

constexpr Column<SeenSlots> slots_list[] = {
    {"limit", {"At a time", true}, {}, field<&SeenSlots::limit>},
    {"running", {"Running here", true}, {}, field<&SeenSlots::running>},
    {"remaining", {"Remaining", true}, {}, field<&SeenSlots::remaining>},
    {"held", {"Slots held here", true}, {}, if_shared<&SeenSlots::here>},
    {"held_elsewhere", {"Held by other machines", true}, {}, if_shared<&SeenSlots::elsewhere>},
    {"source", {}, {}, source<&SeenSlots::shared>},
    {{}, {"As known by"}, {}, known_by<&SeenSlots::shared>},
};

/// This member of the limit by its columns, or null.
template <auto member, const auto& columns>
void write_if_any(JsonText& json, const SeenLimit& limit) {
    if (limit.*member) {
        write_members(json.begin_object(), columns, *(limit.*member));
        json.end_object();
    } else {
        json.null();
    }
}

/// Null where nobody can know them.
void write_windows(JsonText& json, const SeenLimit& limit) {
    if (limit.known == SeenLimit::Known::unkept) {
        json.null();
        return;
    }
    json.begin_array();
    for (const SeenWindow& window : limit.windows) {
        write_members(json.begin_object(), window_columns, window);
        json.end_object();
    }
    json.end_array();
}

Figure on(const SeenLimit& limit) {
    return limit.on ? Figure(to_string(*limit.on)) : Figure();
}

constexpr Column<SeenLimit> seen_columns[] = {
    {"limit", {}, {}, field<&SeenLimit::limit>},
    {"store", {}, {}, field<&SeenLimit::store>},
    {"id", {}, {}, [](const SeenLimit& limit) { return limit.id ? Figure(id_text(*limit.id)) : Figure(); }},
    {"key", {}, {}, field<&SeenLimit::key>},
    {"override", {}, {}, nullptr, write_if_any<&SeenLimit::override, override_columns>},
    {"before", {}, {}, nullptr, write_if_any<&SeenLimit::before, override_columns>},
    {"on", {}, {}, on},
    {"windows", {}, {}, nullptr, write_windows},
    {"slots", {}, {}, nullptr, write_if_any<&SeenLimit::slots, slots_columns>},
};

}  // namespace

unsigned status_of(ActError error) noexcept {
    return names[static_cast<std::size_t>(error)].status;
}

const char* code_of(ActError error) noexcept {
    return names[static_cast<std::size_t>(error)].code;
}

constexpr Columns<SeenWindow> window_columns = window_list;
constexpr Columns<SeenSlots> slots_columns = slots_list;

std::unique_ptr<Document> tell_act_json(const ActResult& result) {
    auto document = std::make_unique<Pieces<JsonText>>("\n");
    if (result.error != ActError::none) {
        document->add([&result](JsonText& json) {
            json.begin_object().name("error").text(code_of(result.error));
            json.name("description").words(result.description).end_object();
        });
        return document;
    }
    if (!result.named) {
        document->add([](JsonText& json) { json.begin_array(); });
    }
    document->add_each(result.limits, [](JsonText& json, const SeenLimit& limit) {
        write_members<SeenLimit>(json.begin_object(), seen_columns, limit);
        json.end_object();
    });
    if (!result.named) {
        document->add([](JsonText& json) { json.end_array(); });
    }
    return document;
}

}  // namespace rate_limit

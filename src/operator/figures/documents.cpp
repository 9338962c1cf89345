#include "operator/figures/documents.h"

#include <string_view>
#include <vector>

#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "operator/figures/all_figures.h"
#include "operator/figures/minutes.h"

namespace rate_limit {

namespace {

/// 0 where no limit stands anywhere.
std::uint64_t count_of(const Configuration& main, Outcome outcome) noexcept {
    return main.tallies != nullptr ? main.tallies->requests().count(outcome) : 0;
}

/// Null: there is none.
void write_time(JsonText& json, std::string_view name, Millis time) {
    json.name(name);
    if (time != 0) {
        json.time(time);
    } else {
        json.null();
    }
}

/// The members before the limits.
void write_head(JsonText& json, const Configuration& main) {
    const Serving by = serving();
    json.name("version").text(by.module);
    json.name("nginx").text(by.nginx);
    json.name("host").text(by.host);
    json.name("time").time(now_millis());
    json.name("workers").number(by.workers);
    write_time(json, "since", main.zone != nullptr ? main.zone->since() : 0);
    json.name("requests").begin_object();
    for (const Ending& ending : endings) {
        json.name(ending.name).count(count_of(main, ending.outcome));
    }
    json.end_object();
}

class Everything final : public Pieces<JsonText> {
public:
    Everything(const Configuration& main, const OperatorRights& rights)
        : Pieces("\n"), found_(main, AllFigures::For::json, rights.plain_keys) {
        add([&main](JsonText& json) { write_head(json.begin_object(), main); });
        found_.add_to(*this);
        add([this](JsonText&) { add_figures(); });
    }

private:
    void add_figures() {
        add_array("limits", found_.limits, [this](JsonText& json, const ToldLimit& limit) {
            write_members(json, limit_sheet.columns, limit);
            write_minutes(json, found_.main, *limit.tally);
        });
        add([](JsonText& json) { json.name("stores").begin_array(); });
        for (std::size_t i = 0; i < found_.shards.size(); ++i) {
            add_shard(i);
        }
        add([this](JsonText& json) { write_memory(json.end_array()); });
        add_array("keys", found_.top.keys,
                  [](JsonText& json, const Top::Key& key) { write_members(json, top_columns, key); });
        add([](JsonText& json) { json.end_object(); });
        add_array("overrides", found_.overrides, [](JsonText& json, const ShownOverride& shown) {
            write_members(json, override_subject_columns, shown);
            write_members(json, override_columns, shown.what);
        });
        add([](JsonText& json) { json.end_object(); });
    }

    /// The shards of a store come one after the other.
    void add_shard(std::size_t i) {
        const std::vector<AllFigures::OfShard>& all = found_.shards;
        const AllFigures::OfShard& shard = all[i];
        const bool is_first = i == 0 || all[i - 1].store != shard.store;
        const bool is_last = i + 1 == all.size() || all[i + 1].store != shard.store;
        add([&shard, is_first](JsonText& json) {
            if (is_first) {
                json.begin_object().name("name").text(shard.subject.store).name("shards").begin_array();
            }
            write_members<ShardFigures>(json.begin_object(), shard_sheet.columns, shard);
        });
        add_array("nodes", shard.nodes, [](JsonText& json, const NodeFigures& node) {
            write_members(json, node_sheet.columns, node);
        });
        add([is_last](JsonText& json) {
            json.end_object();
            if (is_last) {
                json.end_array().end_object();
            }
        });
    }

    /// Writes the member `zone`, and the beginning of `top`.
    void write_memory(JsonText& json) const {
        json.name("zone");
        if (found_.main.zone != nullptr) {
            write_members(json.begin_object(), memory_sheet.columns, found_.memory);
            json.end_object();
        } else {
            json.null();
        }
        write_time(json.name("top").begin_object(), "since", found_.top.since);
        json.name("total").count(found_.top.total);
        json.name("others").count(found_.top.others);
    }

    /// Adds an array of objects, whose members `write` writes.
    template <typename Each, typename Write>
    void add_array(std::string_view name, const std::vector<Each>& all, Write write) {
        add([name](JsonText& json) { json.name(name).begin_array(); });
        add_each(all, [write](JsonText& json, const Each& each) {
            write(json.begin_object(), each);
            json.end_object();
        });
        add([](JsonText& json) { json.end_array(); });
    }

    AllFigures found_;
};

void write_build(MetricsText& text, const Configuration& main) {
    using Type = MetricsText::Type;
    text.family("build_info", Type::gauge, "Always 1; its labels say which versions run.");
    text.sample({{"version", serving().module}, {"nginx", serving().nginx}}, std::uint64_t{1});
    if (main.zone != nullptr) {
        text.family("zone_created_timestamp_seconds", Type::gauge,
                    "When the shared memory was made: all counters began at 0 then.");
        text.sample({}, static_cast<double>(main.zone->since()) / 1000);
    }
    text.family("requests_total", Type::counter,
                "Requests that have ended, by what their limits together decided.");
    for (const Ending& ending : endings) {
        text.sample({{"outcome", ending.name}}, count_of(main, ending.outcome));
    }
}

class Metrics final : public Pieces<MetricsText> {
public:
    explicit Metrics(const Configuration& main) : found_(main, AllFigures::For::metrics, false) {
        add([&main](MetricsText& text) { write_build(text, main); });
        if (main.zone == nullptr) {
            return;
        }
        found_.add_to(*this);
        add([this](MetricsText&) { gather_nodes(); });
        add_families(*this, limit_sheet, found_.limits);
        add_families(*this, shard_sheet, found_.shards);
        add_families(*this, node_sheet, nodes_);
        add_families(*this, memory_sheet, memory_);
        add([this](MetricsText& text) { write_override_metrics(text, found_.overrides); });
    }

private:
    void gather_nodes() {
        OtherNodes others;
        for (const AllFigures::OfShard& shard : found_.shards) {
            others.add(shard, shard.nodes);
            nodes_.insert(nodes_.end(), shard.nodes.begin(), shard.nodes.end());
        }
        const std::vector<NodeFigures> together = others.take(*found_.main.zone);
        nodes_.insert(nodes_.end(), together.begin(), together.end());
        memory_.push_back(found_.memory);
    }

    AllFigures found_;
    std::vector<NodeFigures> nodes_;
    std::vector<MemoryFigures> memory_;  // one
};

}  // namespace

std::unique_ptr<Document> tell_json(const Configuration& main, const OperatorRights& rights) {
    return std::make_unique<Everything>(main, rights);
}

std::unique_ptr<Document> tell_metrics(const Configuration& main) {
    return std::make_unique<Metrics>(main);
}

}  // namespace rate_limit

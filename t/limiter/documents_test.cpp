// Operators are shown all documents byte for byte as they are recorded in t/limiter/documents; the style of
// all pages is recorded once. RECORD_DOCUMENTS=1 records them anew where they are to change: look at the
// difference.

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "operator/acts/acting.h"
#include "operator/figures/documents.h"
#include "operator/figures/minutes.h"
#include "operator/page/key_html.h"
#include "operator/page/page.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/poster.h"
#include "t/limiter/regions.h"
#include "t/world/cluster.h"

namespace rate_limit::world::documents_test {
namespace {

constexpr const char* second_address = "10.0.1.1:6379";

/// The document, once it is written. It is recorded under this name.
void expect_recorded(const std::string& name, std::string told) {
    const std::size_t style = told.find("<style>");
    if (style != std::string::npos) {
        const std::size_t end = told.find("</style>", style);
        expect_recorded("style.css", told.substr(style + 7, end - style - 7));
        told.erase(style + 7, end - style - 7);
    }
    const std::string path = "t/limiter/documents/" + name;
    if (std::getenv("RECORD_DOCUMENTS") != nullptr) {
        std::ofstream(path) << told;
        return;
    }
    std::ifstream file(path);
    std::ostringstream recorded;
    recorded << file.rdbuf();
    EXPECT_EQ(recorded.str(), told) << path;
}

void expect_written(const std::string& name, const std::unique_ptr<Document>& document) {
    expect_recorded(name, write_whole(*document));
}

/// All documents of the console: keys shown, or not; refreshed, or not.
void expect_all(WorkerProcess& worker, const Configuration& main, const std::string& state) {
    PageView view;
    view.below = "./limits";
    worker.loop().turn([&] {
        expect_written(state + ".json", tell_json(main, {}));
        expect_written(state + ".keys.json", tell_json(main, {true, true}));
        expect_written(state + ".metrics", tell_metrics(main));
        expect_written(state + ".html", tell_page(main, {}, view));
        view.refreshes = false;
        view.shows_keys = true;
        expect_written(state + ".keys.html", tell_page(main, {true, true}, view));
        expect_recorded(state + ".form.html", write_key_form(main, view));
    });
}

LimitSetup limit_of(std::string name, std::string rate, std::string mode, std::string store = "main") {
    LimitSetup limit{std::move(name), std::move(rate), std::move(mode)};
    limit.store = std::move(store);
    return limit;
}

/// A machine with a limit of each kind in each mode, in memory, in a store of two shards, and in a cluster.
struct WithAllKinds : OneMachine {
    WithAllKinds() : OneMachine(limit_of("checked", "5r/m", "check_charge")) {
        setup.stores.front().shards.front().replicas = {replica_address};
        setup.stores.front().shards.push_back({"<b>", second_address});
        setup.stores.push_back({"cluster", {}, {}, {of_cluster.address()}});
        for (const char* store : {"main", "local", "cluster"}) {
            const std::string name(store);
            setup.limits.push_back(limit_of(name + "-refunded", "20r/h", "charge_refund", name));
            setup.limits.back().reserves = name == "main";
            setup.limits.push_back(limit_of(name + "-leased", "1000r/7d", "lease", name));
            setup.limits.push_back(limit_of(name + "-bucket", "2r/s", "charge_refund", name));
            setup.limits.back().burst = 3;
            setup.limits.push_back(limit_of(name + "-running", "2", "check_charge", name));
            setup.limits.back().running = true;
        }
        setup.limits.push_back(limit_of("\"daily\" & more", "10r/d", "check_charge", "local"));
        setup.limits.back().window = "clock";
        setup.limits.push_back(limit_of("monthly", "100r/month", "charge_refund"));
        setup.limits.back().window = "clock";
        setup.limits.push_back(limit_of("tried", "3r/h", "check_charge", "local"));
        setup.limits.back().enforced = Enforced::dry_run;
        setup.limits.push_back(limit_of("perhaps", "3r/h", "check_charge", "local"));
        setup.limits.back().enforced = Enforced::by_a_variable;
        cluster.tell_all();
    }

    /// Each minute is put down from now on.
    WorkerProcess& start() {
        WorkerProcess& started = worker();
        started.loop().turn([&] {
            started.zone().nodes().begin_configuration(now_millis());
            place_minutes(started.configuration());
            start_minutes();
        });
        pass(100);
        return started;
    }

    /// The act that this form posts comes to what is recorded under the name.
    void expect_act(const std::string& name, const std::string& posted,
                    OperatorRights rights = {true, false}) {
        PostedAct act(worker(), posted, rights);
        ASSERT_TRUE(until([&] { return act.is_over(); })) << posted;
        worker().loop().turn([&] {
            PageView view;
            view.below = "./limits";
            view.shows_keys = rights.plain_keys;
            expect_written(name + ".json", tell_act_json(act.result()));
            expect_written(name + ".html",
                           tell_act_html(worker().configuration(), view, act.form, act.result()));
        });
    }

    Redis second{events, network, second_address};
    Redis of_cluster{events, network, "10.0.2.1:6379"};
    Redis replica_of_cluster{events, network, "10.0.2.2:6379"};
    LostWrites lost;
    ReplicaSet set{{&of_cluster, &replica_of_cluster}, lost};
    Cluster cluster{{&set}, 1};
};

TEST(Documents, OfAConfigurationWithoutLimits) {
    OneMachine world({"default"});
    const Configuration none;
    expect_all(world.worker(), none, "none");
}

TEST(Documents, BeforeTheFirstRequest) {
    WithAllKinds world;
    Redis replica(world.events, world.network, Scenario::replica_address);
    WorkerProcess& worker = world.start();
    expect_all(worker, worker.configuration(), "fresh");
}

/// Requests pass, are rejected and run, a replica has never been there, a primary goes away, operators ban.
TEST(Documents, OfAMachineThatHasBeenUsed) {
    WithAllKinds world;
    WorkerProcess& worker = world.start();
    for (int i = 0; i < 30; ++i) {
        world.admits(i % 3 == 0 ? "<client> \"a\"" : "b" + std::to_string(i), 50);
    }
    world.second.kill(true);
    for (int i = 0; i < 20; ++i) {
        world.admits("c" + std::to_string(i), 50);
    }
    world.pass(61'000);
    for (int i = 0; i < 10; ++i) {
        world.begin("d" + std::to_string(i % 4));
    }
    world.pass(500);
    world.expect_act("ban", "do=ban&limit=tried&store=local&key=d1&for=10m", {true, true});
    world.expect_act("enforce", "do=enforce&limit=tried&percent=30");
    expect_all(worker, worker.configuration(), "used");
}

TEST(Documents, OfActs) {
    WithAllKinds world;
    world.start();
    for (int i = 0; i < 4; ++i) {
        world.admits("client", 50);
    }
    world.begin("client");
    world.pass(50);
    world.expect_act("look-up", "key=client");
    world.expect_act("look-up-plain", "key=client&limit=main-leased", {true, true});
    world.expect_act("look-up-nobody", "key=<nobody>", {true, true});
    world.expect_act("reset", "do=reset&key=client&limit=checked");
    world.expect_act("reset-bucket", "do=reset&key=client&limit=cluster-bucket");
    world.expect_act("add", "do=add&key=client&limit=main-refunded&cost=2");
    world.expect_act("allow", "do=allow&key=client&limit=monthly&for=1h");
    world.expect_act("off", "do=off&limit=monthly&for=90");
    world.expect_act("clear", "do=clear&limit=monthly");
    world.expect_act("unknown-limit", "do=reset&key=client&limit=none");
    world.expect_act("no-such-act", "do=nothing");
    world.expect_act("no-key", "do=reset&limit=checked");
    world.expect_act("bad-time", "do=ban&key=client&limit=checked&for=31d");
    world.expect_act("bad-cost", "do=add&key=client&limit=checked&cost=0");
    world.expect_act("bad-period", "do=reset&key=client&limit=checked&period=x");
    world.expect_act("no-such-period", "do=reset&key=client&limit=checked&period=7");
    world.expect_act("off-of-a-key", "do=off&key=client&limit=checked");
    world.expect_act("reset-running", "do=reset&key=client&limit=main-running");
    world.expect_act("bad-percent", "do=enforce&limit=checked&percent=101");
    world.primary.kill(true);
    world.second.kill(true);
    world.expect_act("away", "key=client");
    world.expect_act("reset-away", "do=reset&key=client&limit=checked");
}

/// Those of another region are figures of a store that nothing is charged to, which is no fault.
TEST_F(Regions, AreShownInAllDocuments) {
    WorkerProcess& worker = world.worker(0, 0);
    worker.loop().turn([&] {
        worker.zone().nodes().begin_configuration(now_millis());
        place_minutes(worker.configuration());
        start_minutes();
    });
    charge(0, 30);
    charge(1, 20);
    world.pass(1'500);
    EXPECT_EQ(check(0), "PASSED 50");
    expect_all(worker, worker.configuration(), "regions");
}

}  // namespace
}  // namespace rate_limit::world::documents_test

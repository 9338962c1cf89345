#include "t/world/sentinel.h"

#include <algorithm>
#include <utility>

#include "t/world/server_numbers.h"
#include "t/world/server_reply.h"

namespace rate_limit::world {

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// `name`, `ip` and `port`, with which each entry of a sentinel begins.
Fields entry(const std::string& name, const std::string& address) {
    const std::size_t colon = address.rfind(':');
    return {{"name", name}, {"ip", address.substr(0, colon)}, {"port", address.substr(colon + 1)}};
}

void answer(ServerReply& reply, const Fields& fields) {
    reply.array(2 * fields.size());
    for (const auto& [name, value] : fields) {
        reply.bulk(name);
        reply.bulk(value);
    }
}

Fields describe(const std::string& name, const Watched& master, std::size_t peers) {
    Fields fields = entry(name, master.primary);
    std::string flags = "master";
    flags += master.up ? "" : ",s_down,o_down";
    flags += master.failing_over ? ",failover_in_progress,force_failover" : "";
    const std::uint64_t epoch = master.epoch + (master.failing_over ? 1 : 0);
    fields.insert(fields.end(), {{"flags", flags},
                                 {"role-reported", "master"},
                                 {"config-epoch", std::to_string(epoch)},
                                 {"num-slaves", std::to_string(master.replicas.size())},
                                 {"num-other-sentinels", std::to_string(peers)},
                                 {"quorum", std::to_string((peers + 1) / 2 + 1)}});
    return fields;
}

Fields describe(const Watched& master, const Watched::Replica& replica) {
    Fields fields = entry(replica.address, replica.address);
    const std::size_t colon = master.primary.rfind(':');
    fields.insert(fields.end(), {{"flags", replica.up ? "slave" : "s_down,slave,disconnected"},
                                 {"role-reported", replica.is_replica ? "slave" : "master"},
                                 {"master-link-status", replica.linked ? "ok" : "err"},
                                 {"master-host", master.primary.substr(0, colon)},
                                 {"master-port", master.primary.substr(colon + 1)},
                                 {"slave-priority", "100"},
                                 {"replica-announced", "1"}});
    return fields;
}

}  // namespace

/// The bytes that have come on one connection, and are no whole command yet.
struct Sentinel::Connection {
    std::string rest;
};

Sentinel::Sentinel(Network& network, const std::string& address)
    : network_(network), address_(address), link_(network.listen(address, *this)) {}

Sentinel::~Sentinel() {
    network_.stop_listening(address_);
}

void Sentinel::on_accept(const std::shared_ptr<Wire>& wire) {
    wire->session = std::make_shared<Connection>();
    wires_.push_back(wire);
}

void Sentinel::on_gone(const std::shared_ptr<Wire>& wire) {
    wires_.erase(std::remove(wires_.begin(), wires_.end(), wire), wires_.end());
}

void Sentinel::on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) {
    std::string& rest = std::static_pointer_cast<Connection>(wire->session)->rest;
    rest += bytes;
    std::string replies;
    std::vector<std::string_view> words;
    std::size_t length = 0;
    while (!rest.empty() && read_request(rest, words, length) == Request::whole) {
        run(words, replies);
        rest.erase(0, length);
    }
    if (!replies.empty()) {
        wire->answer(std::move(replies));
    }
}

void Sentinel::run(Words words, std::string& replies) const {
    RespReply reply(replies);
    if (is_word(words[0], "ping")) {
        reply.status("PONG");
    } else if (is_word(words[0], "sentinel") && words.size() == 3) {
        run_sentinel(words, replies);
    } else {
        reply.error("ERR unknown command '" + std::string(words[0]) + "', with args beginning with: ");
    }
}

void Sentinel::run_sentinel(Words words, std::string& replies) const {
    RespReply reply(replies);
    const auto found = watched_.find(words[2]);
    if (found == watched_.end()) {
        reply.error("ERR No such master with that name");
    } else if (is_word(words[1], "master")) {
        answer(reply, describe(found->first, found->second, peers.size()));
    } else if (is_word(words[1], "replicas")) {
        reply.array(found->second.replicas.size());
        for (const Watched::Replica& replica : found->second.replicas) {
            answer(reply, describe(found->second, replica));
        }
    } else if (is_word(words[1], "sentinels")) {
        reply.array(peers.size());
        for (const std::string& peer : peers) {
            Fields fields = entry(peer, peer);
            fields.emplace_back("flags", "sentinel");
            answer(reply, fields);
        }
    } else {
        reply.error("ERR unknown subcommand '" + std::string(words[1]) + "'. Try SENTINEL HELP.");
    }
}

void Sentinel::kill() {
    network_.stop_listening(address_);
    reset_connections();
}

void Sentinel::reset_connections() {
    for (const std::shared_ptr<Wire>& wire : std::exchange(wires_, {})) {
        wire->end("Connection reset by peer");
    }
}

}  // namespace rate_limit::world

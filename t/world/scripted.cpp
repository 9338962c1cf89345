#include "t/world/scripted.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "t/world/server_request.h"

namespace rate_limit::world {

ScriptedReply hold(std::string gate, std::string bytes) {
    ScriptedReply reply(ScriptedReply::When::at_gate, std::move(bytes));
    reply.gate = std::move(gate);
    return reply;
}

ScriptedReply later(Micros after, std::string bytes) {
    ScriptedReply reply(ScriptedReply::When::later, std::move(bytes));
    reply.after = after;
    return reply;
}

ScriptedReply no_reply() {
    return {ScriptedReply::When::never, {}};
}

Scripted::Scripted(Events& events, Network& network, std::string address, Handler answers)
    : handler(std::move(answers)),
      events_(events),
      network_(network),
      address_(std::move(address)),
      link_(network.listen(address_, *this)) {}

// NOLINTNEXTLINE(bugprone-exception-escape): only without memory
Scripted::~Scripted() {
    stop();
}

void Scripted::start() {
    network_.listen(address_, *this);
}

void Scripted::stop() {
    network_.stop_listening(address_);
    drop();
}

void Scripted::drop() {
    for (const auto& client : std::vector<std::shared_ptr<ScriptedClient>>(clients_)) {
        client->reset();
    }
}

void Scripted::release(const std::string& gate) {
    for (const auto& client : std::vector<std::shared_ptr<ScriptedClient>>(clients_)) {
        client->release(gate);
    }
}

void Scripted::remove(const ScriptedClient& client) {
    clients_.erase(std::remove_if(clients_.begin(), clients_.end(),
                                  [&client](const auto& each) { return each.get() == &client; }),
                   clients_.end());
}

void Scripted::on_accept(const std::shared_ptr<Wire>& wire) {
    const auto client = std::make_shared<ScriptedClient>(*this, wire, ++accepted_);
    wire->session = client;
    clients_.push_back(client);
    if (welcome) {
        // Behind the news that the connection is there.
        events_.in(0, [this, client] { welcome(*client); });
    }
}

void Scripted::on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) {
    std::static_pointer_cast<ScriptedClient>(wire->session)->receive(bytes);
}

void Scripted::on_gone(const std::shared_ptr<Wire>& wire) {
    const auto client = std::static_pointer_cast<ScriptedClient>(wire->session);
    client->gone_ = true;
    remove(*client);
}

std::vector<Command> Scripted::commands(std::string_view name) const {
    std::vector<Command> found;
    std::copy_if(commands_.begin(), commands_.end(), std::back_inserter(found),
                 [name](const Command& words) { return words.front() == name; });
    return found;
}

std::vector<Command> Scripted::writes() const {
    std::vector<Command> found;
    std::copy_if(commands_.begin(), commands_.end(), std::back_inserter(found), is_write);
    return found;
}

std::map<std::string, std::int64_t> Scripted::charged() const {
    std::map<std::string, std::int64_t> sums;
    for (const Command& words : writes()) {
        const std::size_t key = words[0] == "hincrby" ? 1 : 3;
        sums[words.at(key)] += std::stoll(words.at(words[0] == "hincrby" ? 3 : 4));
    }
    return sums;
}

ScriptedClient::ScriptedClient(Scripted& server, const std::shared_ptr<Wire>& wire, std::size_t number)
    : server_(server), wire_(wire), number_(number) {}

void ScriptedClient::send(const std::string& bytes) {
    const auto wire = wire_.lock();
    if (gone_ || wire == nullptr) {
        return;
    }
    const std::size_t step = server_.piece != 0 ? server_.piece : std::max<std::size_t>(1, bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        wire->answer(bytes.substr(at, step));
    }
}

void ScriptedClient::close() {
    closing_ = true;
}

ScriptedReply ScriptedClient::reset() {
    if (!std::exchange(gone_, true)) {
        const auto self = shared_from_this();
        server_.remove(*this);
        if (const auto wire = wire_.lock()) {
            wire->end("Connection reset by peer");
        }
    }
    return no_reply();
}

void ScriptedClient::receive(std::string_view bytes) {
    rest_ += bytes;
    std::vector<std::string_view> words;
    std::size_t length = 0;
    while (!gone_ && !closing_ && read_request(rest_, words, length) == Request::whole) {
        Command command(words.begin(), words.end());
        rest_.erase(0, length);
        if (command.empty()) {
            continue;
        }
        for (char& letter : command.front()) {
            letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        }
        server_.commands_.push_back(command);
        answer(command);
    }
    flush();
}

void ScriptedClient::answer(const Command& words) {
    ScriptedReply reply = server_.handler ? server_.handler(words, *this) : fallback(words);
    if (gone_ || reply.when == ScriptedReply::When::never) {
        return;
    }
    const auto place = std::make_shared<Place>(Place{reply, reply.when == ScriptedReply::When::now});
    places_.push_back(place);
    if (reply.when == ScriptedReply::When::later) {
        server_.events_.in(reply.after, [self = shared_from_this(), place] {
            place->ready = true;
            self->flush();
        });
    }
}

void ScriptedClient::release(const std::string& gate) {
    for (const auto& place : places_) {
        place->ready =
            place->ready || (place->reply.when == ScriptedReply::When::at_gate && place->reply.gate == gate);
    }
    flush();
}

/// All that is ready leaves in one piece, as a server writes at the end of its turn.
void ScriptedClient::flush() {
    std::string ready;
    const auto first_waiting =
        std::find_if(places_.begin(), places_.end(), [](const auto& place) { return !place->ready; });
    for (auto place = places_.begin(); place != first_waiting; ++place) {
        ready += (*place)->reply.bytes;
    }
    places_.erase(places_.begin(), first_waiting);
    send(ready);
    if (closing_ && places_.empty() && !std::exchange(gone_, true)) {
        const auto self = shared_from_this();
        server_.remove(*this);
        if (const auto wire = wire_.lock()) {
            wire->end("Server closed the connection");
        }
    }
}

}  // namespace rate_limit::world

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "limiter/store_conf.h"
#include "redis/reply.h"

namespace rate_limit {

/// One connection to a server: many pipelined commands. Whoever runs the limiter defines it; nginx's side is
/// ngx/wire/connection.cpp.
///
/// Knows nothing of commands' meaning. Commands sent in one turn of the loop leave in one write, behind
/// everything that may still issue commands. Its owner outlives it and is told of four
/// things; after any call that may end the connection (close, and whatever comes from the socket) is_open()
/// tells what is left.
class Connection {
public:
    class Owner {
    public:
        /// The socket is connected, and over TLS the server is who it should be: commands may be sent.
        virtual void on_connected() noexcept = 0;

        /// The answer to the oldest command that has none yet; valid during the call.
        virtual void on_reply(const Reply& reply) noexcept = 0;

        /// The connection is gone and so is every command on it that has no answer. Never comes from within
        /// on_reply(), open() or send().
        virtual void on_closed(const char* reason) noexcept = 0;

        /// the loop asks for idle connections to be closed.
        virtual void on_close_idle() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// `peer`: whom the server's certificate has to be for; empty: it speaks no TLS. All three outlive this.
    /// Throws std::bad_alloc.
    Connection(Owner& owner, const StoreConf& store, const std::string& peer);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// From now on each reply has a tree. Throws std::bad_alloc.
    void record_trees();

    /// From the next reply on none has.
    void record_no_trees() noexcept;

    /// Starts to connect. Null, or why that failed at once; the text is good until the next call.
    const char* open(const Address& address) noexcept;

    bool is_open() const noexcept;

    /// The socket is connected, and TLS is not there yet.
    bool shakes_hands() const noexcept;

    /// The last connection ended in its TLS handshake. Good until open().
    bool broke_handshake() const noexcept;

    /// Queues one command. False when the connection takes no more, and then there is no answer to it.
    bool send(std::string_view command) noexcept;

    /// Writes what the socket takes now, and does not wait for the end of this turn.
    void write_now() noexcept;

    /// Reads all that lies in the socket at this moment. Not from within on_reply().
    void read_now() noexcept;

    /// Ends the connection and calls on_closed(reason): at once, or, within on_reply(), after that returns.
    /// `reason` is static text.
    void close(const char* reason) noexcept;

    /// Commands of this turn of the loop wait for its end, to leave in one write.
    bool gathers() const noexcept;

    /// Marks whether the loop may close the connection when it ends.
    void set_idle(bool idle) noexcept;

private:
    class Socket;  // defined, with all that follows here, by whoever runs the limiter

    std::unique_ptr<Socket> socket_;
};

}  // namespace rate_limit

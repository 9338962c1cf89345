// Sends real machines a schedule of requests, each at its time, whether or not those before are answered; and
// is the backend behind them that takes a while.
//
//   replay send SCHEDULE REDIS_PORT PORT...
//
//   replay backend MICROSECONDS
//
// SCHEDULE has a line for each request: microseconds since the start, machine, key. What follows in a line is
// skipped. `backend` prints its port, and serves until its input ends.
//
// `send` prints for each request, in the order of the schedule: when it was sent, machine, key, status, and
// the microseconds until its answer; then "round trip" and what a PING to Redis took meanwhile (median). It
// pings every 5 ms.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Micros = std::int64_t;

Micros now() {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch())
        .count();
}

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

void send_at_once(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int open_connection(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail("connect");
    }
    send_at_once(fd);
    return fd;
}

void write_all(int fd, std::string_view text) {
    if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        fail("write");
    }
}

// Sleeps until shortly before, as timers of the kernel may be late, and then does not.
int patience_until(Micros time) {
    const Micros left = time - now();
    return left > 1000 ? static_cast<int>(std::min<Micros>(left / 1000, 1000)) : 0;
}

struct Request {
    Micros at = 0;  // since the start: as planned, and then as it was sent
    std::size_t machine = 0;
    unsigned key = 0;
    int status = 0;
    Micros took = 0;
};

struct Connection {
    int fd = -1;
    std::size_t machine = 0;
    Request* request = nullptr;
    std::string in;
};

class Replay {
public:
    Replay(std::vector<Request> requests, int redis, const std::vector<int>& ports)
        : requests_(std::move(requests)), ports_(ports), free_(ports.size()) {
        ping_.fd = open_connection(redis);
        watch(ping_);
        for (std::size_t machine = 0; machine < ports.size(); ++machine) {
            for (int i = 0; i < 16; ++i) {
                free_[machine].push_back(&connect_to(machine));
            }
        }
    }

    void run() {
        start_ = now() + 50'000;
        while (next_ < requests_.size() || open_ > 0) {
            const Micros at = now() - start_;
            for (; next_ < requests_.size() && requests_[next_].at <= at; ++next_) {
                send(requests_[next_]);
            }
            if (pinged_ == 0 && at >= next_ping_) {
                pinged_ = now();
                next_ping_ = at + 5000;
                write_all(ping_.fd, "PING\r\n");
            }
            const Micros due =
                next_ < requests_.size() ? requests_[next_].at : std::numeric_limits<Micros>::max() / 2;
            receive(std::min(patience_until(start_ + std::min(due, next_ping_)), 100));
        }
    }

    void print() {
        for (const Request& request : requests_) {
            std::printf("%ld %zu %u %d %ld\n", static_cast<long>(request.at), request.machine, request.key,
                        request.status, static_cast<long>(request.took));
        }
        std::sort(trips_.begin(), trips_.end());
        std::printf("round trip %ld\n", static_cast<long>(trips_.empty() ? 0 : trips_[trips_.size() / 2]));
    }

private:
    void watch(Connection& connection) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = &connection;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
    }

    Connection& connect_to(std::size_t machine) {
        connections_.push_back(std::make_unique<Connection>());
        Connection& connection = *connections_.back();
        connection.machine = machine;
        connection.fd = open_connection(ports_[machine]);
        watch(connection);
        return connection;
    }

    void send(Request& request) {
        std::deque<Connection*>& free = free_[request.machine];
        Connection& connection = free.empty() ? connect_to(request.machine) : *free.front();
        if (!free.empty()) {
            free.pop_front();
        }
        connection.request = &request;
        write_all(connection.fd,
                  "GET /x?k=" + std::to_string(request.key) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        request.at = now() - start_;
        ++open_;
    }

    void receive(int patience) {
        epoll_event events[256];
        const int ready = epoll_wait(epoll_, events, 256, patience);
        if (ready < 0 && errno != EINTR) {
            fail("epoll_wait");
        }
        for (int i = 0; i < ready; ++i) {
            auto& connection = *static_cast<Connection*>(events[i].data.ptr);
            char buffer[16384];
            const ssize_t got = read(connection.fd, buffer, sizeof buffer);
            if (got <= 0) {
                fail("a connection was closed");
            }
            &connection == &ping_ ? take_ping() : take(connection, {buffer, static_cast<std::size_t>(got)});
        }
    }

    void take_ping() {
        trips_.push_back(now() - pinged_);
        pinged_ = 0;
    }

    void take(Connection& connection, std::string_view bytes) {
        connection.in.append(bytes);
        const std::size_t head = connection.in.find("\r\n\r\n");
        const std::size_t length = connection.in.find("Content-Length: ");
        if (head == std::string::npos ||
            connection.in.size() <
                head + 4 + std::strtoul(connection.in.c_str() + length + 16, nullptr, 10)) {
            return;
        }
        Request& request = *connection.request;
        request.status = std::atoi(connection.in.c_str() + 9);
        request.took = now() - start_ - request.at;
        connection.in.clear();
        free_[connection.machine].push_back(&connection);
        --open_;
    }

    int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    std::vector<Request> requests_;
    const std::vector<int> ports_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::deque<Connection*>> free_;
    Connection ping_;
    std::vector<Micros> trips_;
    Micros start_ = 0;
    Micros pinged_ = 0;  // 0: none is under way
    Micros next_ping_ = 0;
    std::size_t next_ = 0;
    std::size_t open_ = 0;
};

class Backend {
public:
    explicit Backend(Micros delay)
        : delay_(delay), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int on = 1;
        setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
            listen(listener_, 1000) != 0 ||
            getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            fail("listen");
        }
        watch(listener_);
        watch(STDIN_FILENO);
        std::printf("%d\n", ntohs(address.sin_port));
        std::fflush(stdout);
    }

    void run() {
        for (bool goes_on = true; goes_on;) {
            epoll_event events[256];
            const int ready =
                epoll_wait(epoll_, events, 256, due_.empty() ? 1000 : patience_until(due_.front().at));
            for (int i = 0; i < ready; ++i) {
                goes_on = events[i].data.fd != STDIN_FILENO;
                events[i].data.fd == listener_ ? accept_one() : take(events[i].data.fd);
            }
            for (; !due_.empty() && due_.front().at <= now(); due_.pop_front()) {
                // A client that is gone needs no answer.
                (void)!write(due_.front().fd, answer.data(), answer.size());
            }
        }
    }

private:
    static constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx\n";

    struct Due {
        Micros at;
        int fd;
    };

    void watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    }

    void accept_one() {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            send_at_once(fd);
            watch(fd);
        }
    }

    // nginx sends a request in one piece, and no second one before the answer.
    void take(int fd) {
        char buffer[16384];
        const ssize_t got = read(fd, buffer, sizeof buffer);
        if (got > 0) {
            due_.push_back({now() + delay_, fd});
        } else if (fd != STDIN_FILENO && (got == 0 || errno != EAGAIN)) {
            close(fd);
        }
    }

    const Micros delay_;
    const int listener_;
    const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    std::deque<Due> due_;
};

std::vector<Request> read_schedule(const char* path) {
    std::ifstream in(path);
    std::vector<Request> requests;
    std::string line;
    while (std::getline(in, line)) {
        Request request;
        if (std::istringstream(line) >> request.at >> request.machine >> request.key) {
            requests.push_back(request);
        }
    }
    return requests;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 2 ? argv[1] : "";
    if (what == "backend") {
        Backend(std::atol(argv[2])).run();
    } else if (what == "send" && argc > 4) {
        std::vector<int> ports;
        for (int i = 4; i < argc; ++i) {
            ports.push_back(std::atoi(argv[i]));
        }
        Replay replay(read_schedule(argv[2]), std::atoi(argv[3]), ports);
        replay.run();
        replay.print();
    } else {
        std::fputs("replay send SCHEDULE REDIS_PORT PORT... | backend MICROSECONDS\n", stderr);
        return 2;
    }
    return 0;
}

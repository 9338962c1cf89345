// Keeps connections busy with one request each, over keys that follow one another: GET /x?k=1, /x?k=2 ...
// (h2load leads all its connections through the same keys at the same time.)
//
//   load PORT CONNECTIONS SECONDS KEYS FIRST
//
// Prints "ready" once each connection has had an answer, and begins when a line comes in. At the end it
// prints requests, 2xx, 429, other and seconds, and keeps the connections until its input ends: opening and
// closing are not measured.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
    int fd = -1;
    std::string in;
};

struct Counts {
    unsigned long requests = 0, admitted = 0, rejected = 0, other = 0;
};

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

int open_connection(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        fail("connect");
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

// The length of the response at the start of what came in, 0 while it is incomplete.
size_t complete_response(std::string_view in) {
    const size_t head = in.find("\r\n\r\n");
    if (head == in.npos) {
        return 0;
    }
    constexpr std::string_view name = "\r\nContent-Length: ";
    const size_t length = in.substr(0, head + 2).find(name);
    if (length == in.npos) {
        std::fputs("load: a response without Content-Length\n", stderr);
        std::exit(1);
    }
    const size_t total = head + 4 + std::strtoul(in.data() + length + name.size(), nullptr, 10);
    return in.size() < total ? 0 : total;
}

class Load {
public:
    Load(int port, size_t connections, size_t keys, size_t first) : connections_(connections), next_(first) {
        for (size_t key = 0; key < keys; ++key) {
            requests_.push_back("GET /x?k=" + std::to_string(key) +
                                " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n");
        }
        for (Connection& connection : connections_) {
            connection.fd = open_connection(port);
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.ptr = &connection;
            epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
        }
    }

    Counts run(Clock::duration time) {
        counts_ = {};
        const Clock::time_point end = Clock::now() + time;
        running_ = connections_.size();
        for (Connection& connection : connections_) {
            send(connection);
        }
        epoll_event events[512];
        while (running_ > 0) {
            const int ready = epoll_wait(epoll_, events, 512, 10000);
            if (ready <= 0) {
                fail("no answer");
            }
            const bool go_on = Clock::now() < end;
            for (int i = 0; i < ready; ++i) {
                receive(*static_cast<Connection*>(events[i].data.ptr), go_on);
            }
        }
        return counts_;
    }

private:
    void send(Connection& connection) {
        const std::string& request = requests_[next_++ % requests_.size()];
        if (write(connection.fd, request.data(), request.size()) != static_cast<ssize_t>(request.size())) {
            fail("write");
        }
        ++counts_.requests;
    }

    void receive(Connection& connection, bool go_on) {
        char buffer[16384];
        const ssize_t got = read(connection.fd, buffer, sizeof buffer);
        if (got <= 0) {
            fail("connection closed");
        }
        connection.in.append(buffer, static_cast<size_t>(got));
        if (complete_response(connection.in) == 0) {
            return;
        }
        count(std::atoi(connection.in.c_str() + std::strlen("HTTP/1.1 ")));
        connection.in.clear();
        if (go_on) {
            send(connection);
        } else {
            --running_;
        }
    }

    void count(int status) {
        ++(status / 100 == 2 ? counts_.admitted : status == 429 ? counts_.rejected : counts_.other);
    }

    int epoll_ = epoll_create1(0);
    std::vector<Connection> connections_;
    std::vector<std::string> requests_;
    size_t next_;
    size_t running_ = 0;
    Counts counts_;
};

void wait_for_line() {
    int c;
    while ((c = std::getchar()) != EOF && c != '\n') {
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fputs("load PORT CONNECTIONS SECONDS KEYS FIRST\n", stderr);
        return 2;
    }
    setvbuf(stdout, nullptr, _IOLBF, 0);
    Load load(std::atoi(argv[1]), std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[4], nullptr, 10),
              std::strtoul(argv[5], nullptr, 10));
    const Counts first = load.run(Clock::duration::zero());
    std::printf("ready %lu %lu %lu %lu\n", first.requests, first.admitted, first.rejected, first.other);
    wait_for_line();
    const std::chrono::duration<double> time(std::atof(argv[3]));
    const Clock::time_point start = Clock::now();
    const Counts counts = load.run(std::chrono::duration_cast<Clock::duration>(time));
    const std::chrono::duration<double> took = Clock::now() - start;
    std::printf("%lu %lu %lu %lu %.6f\n", counts.requests, counts.admitted, counts.rejected, counts.other,
                took.count());
    wait_for_line();
}

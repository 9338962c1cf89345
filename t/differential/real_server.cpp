#include "t/differential/real_server.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rate_limit::world {
namespace {

constexpr std::array files{"clock", "log", "socket", "disk/nodes.conf"};

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "redis-server: %s\n", what);
    std::exit(2);
}

std::string new_folder() {
    const char* parent = std::getenv("TMPDIR");
    std::string name = std::string(parent != nullptr ? parent : "/tmp") + "/rate-limit-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
        give_up("there is no room for its folder");
    }
    return name;
}

}  // namespace

RealServer::RealServer(const std::string& clock, std::int64_t micros, const ClusterOptions& options)
    : folder_(new_folder()) {
    make_clock(micros);
    mkdir(path("disk").c_str(), 0700);
    if (!options.nodes.empty()) {
        std::ofstream(path("disk/nodes.conf")) << options.nodes;
    }
    launch(clock, options.words);
    connect();
    check_clock(micros);
}

RealServer::~RealServer() {
    close(connection_);
    if (server_ > 0) {
        kill(server_, SIGKILL);
        waitpid(server_, nullptr, 0);
    }
    munmap(micros_, sizeof *micros_);
    for (const char* file : files) {
        unlink(path(file).c_str());
    }
    rmdir(path("disk").c_str());
    rmdir(folder_.c_str());
}

void RealServer::make_clock(std::int64_t micros) {
    const int file = open(path("clock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *micros_) != 0) {
        give_up("there is no room for its clock");
    }
    void* place = mmap(nullptr, sizeof *micros_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (place == MAP_FAILED) {
        give_up("there is no memory for its clock");
    }
    micros_ = static_cast<std::int64_t*>(place);
    set_clock(micros);
}

void RealServer::set_clock(std::int64_t micros) noexcept {
    __atomic_store_n(micros_, micros, __ATOMIC_RELEASE);
}

void RealServer::launch(const std::string& clock, const std::vector<std::string>& options) {
    const char* named = std::getenv("REDIS_SERVER");
    const std::string binary = named != nullptr && *named != '\0' ? named : "redis-server";
    const std::string socket = path("socket");
    const std::string log = path("log");
    const std::string its_clock = path("clock");
    const std::string disk = path("disk");
    const pid_t owner = getpid();
    server_ = fork();
    if (server_ != 0) {
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != owner) {
        _exit(127);
    }
    setenv("LD_PRELOAD", clock.c_str(), 1);
    setenv("REDIS_CLOCK", its_clock.c_str(), 1);
    std::vector<std::string> words{binary,   "--port",
                                   "0",      "--unixsocket",
                                   socket,   "--dir",
                                   disk,     "--logfile",
                                   log,      "--save",
                                   "",       "--appendonly",
                                   "no",     "--daemonize",
                                   "no",     "--hash-max-listpack-entries",
                                   "100000", "--hash-max-listpack-value",
                                   "100000"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    execvp(binary.c_str(), arguments.data());
    _exit(127);
}

void RealServer::connect() {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < latest) {
        if (waitpid(server_, nullptr, WNOHANG) == server_) {
            server_ = -1;
            give_up("it ended at once: is it installed?");
        }
        if (try_connect()) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    give_up("it does not answer");
}

bool RealServer::try_connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string socket_path = path("socket");
    if (socket_path.size() >= sizeof address.sun_path) {
        give_up("the name of its folder is too long");
    }
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    connection_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(connection_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        return true;
    }
    close(connection_);
    connection_ = -1;
    return false;
}

void RealServer::reconnect() {
    close(connection_);
    unsent_.clear();
    received_.clear();
    connect();
}

void RealServer::check_clock(std::int64_t micros) {
    const std::string seconds = std::to_string(micros / 1'000'000);
    const std::string rest = std::to_string(micros % 1'000'000);
    const std::string expected = "*2\r\n$" + std::to_string(seconds.size()) + "\r\n" + seconds + "\r\n$" +
                                 std::to_string(rest.size()) + "\r\n" + rest + "\r\n";
    send("*1\r\n$4\r\nTIME\r\n");
    if (receive(expected.size()) != expected) {
        give_up("it has a clock of its own");
    }
}

/// Together with others, when an answer is wanted.
void RealServer::send(std::string_view bytes) {
    unsent_ += bytes;
}

/// Sends what waits, and reads what has come. False where nothing comes for so many milliseconds, or no more
/// will.
bool RealServer::fill(int patience) {
    pollfd ready{connection_, static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT)), 0};
    if (poll(&ready, 1, patience) <= 0) {
        return false;
    }
    if ((ready.revents & POLLOUT) != 0) {
        const ssize_t sent = ::send(connection_, unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        unsent_.erase(0, sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
    if ((ready.revents & (POLLIN | POLLHUP)) != 0) {
        std::array<char, 65536> bytes{};
        const ssize_t size = recv(connection_, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (size <= 0) {
            return false;
        }
        received_.append(bytes.data(), static_cast<std::size_t>(size));
    }
    return true;
}

std::string RealServer::receive(std::size_t size) {
    while (!unsent_.empty() || received_.size() < size) {
        if (!fill(5000)) {
            break;
        }
    }
    std::string bytes = received_.substr(0, size);
    received_.erase(0, size);
    return bytes;
}

std::string RealServer::receive_rest() {
    while (fill(0)) {
    }
    return std::exchange(received_, {});
}

std::string RealServer::ask(std::string_view bytes) {
    constexpr std::string_view end = "$11\r\nthat is all\r\n";
    send(bytes);
    send("*2\r\n$4\r\nECHO\r\n");
    send(end);
    std::string answers;
    while (answers.size() < end.size() || answers.substr(answers.size() - end.size()) != end) {
        const std::string more = receive(1);
        if (more.empty()) {
            give_up("it does not answer");
        }
        answers += more;
    }
    answers.resize(answers.size() - end.size());
    return answers;
}

ServerVersion RealServer::version() {
    constexpr std::string_view name = "\nredis_version:";
    const std::string text = ask("*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n");
    const std::size_t at = text.find(name);
    const char major = at == std::string::npos ? '7' : text[at + name.size()];
    const bool is_7_0 = at != std::string::npos && text.compare(at + name.size(), 3, "7.0") == 0;
    return major < '7' ? ServerVersion::redis_6 : is_7_0 ? ServerVersion::redis_7 : ServerVersion::redis_8;
}

void RealServer::lose_disk() {
    rmdir(path("disk").c_str());
}

}  // namespace rate_limit::world

#include "bench/simulate/server/differential/real_server.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rate_limit::simulated {
namespace {

constexpr std::array files{"clock", "log", "socket"};

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

RealServer::RealServer(const std::string& clock, std::int64_t micros) : folder_(new_folder()) {
    make_clock(micros);
    launch(clock);
    connect();
    check_clock(micros);
}

RealServer::~RealServer() {
    if (connection_ != nullptr) {
        redisFree(connection_);
    }
    if (server_ > 0) {
        kill(server_, SIGKILL);
        waitpid(server_, nullptr, 0);
    }
    munmap(micros_, sizeof *micros_);
    for (const char* file : files) {
        unlink(path(file).c_str());
    }
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

void RealServer::launch(const std::string& clock) {
    const char* named = std::getenv("REDIS_SERVER");
    const std::string binary = named != nullptr && *named != '\0' ? named : "redis-server";
    const std::string socket = path("socket");
    const std::string log = path("log");
    const std::string its_clock = path("clock");
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
    execlp(binary.c_str(), binary.c_str(), "--port", "0", "--unixsocket", socket.c_str(), "--dir",
           folder_.c_str(), "--logfile", log.c_str(), "--save", "", "--appendonly", "no", "--daemonize", "no",
           static_cast<char*>(nullptr));
    _exit(127);
}

void RealServer::connect() {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < latest) {
        if (waitpid(server_, nullptr, WNOHANG) == server_) {
            server_ = -1;
            give_up("it ended at once: is it installed?");
        }
        connection_ = redisConnectUnix(path("socket").c_str());
        if (connection_ != nullptr && connection_->err == 0) {
            return;
        }
        if (connection_ != nullptr) {
            redisFree(connection_);
            connection_ = nullptr;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    give_up("it does not answer");
}

void RealServer::check_clock(std::int64_t micros) {
    const RealReply reply = ask("*1\r\n$4\r\nTIME\r\n");
    const bool sound = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    if (!sound || std::atoll(reply->element[0]->str) != micros / 1'000'000 ||
        std::atoll(reply->element[1]->str) != micros % 1'000'000) {
        give_up("it has a clock of its own");
    }
}

void RealServer::send(std::string_view command) {
    if (redisAppendFormattedCommand(connection_, command.data(), command.size()) != REDIS_OK) {
        give_up("a command could not be sent");
    }
}

RealReply RealServer::receive() {
    void* reply = nullptr;
    if (redisGetReply(connection_, &reply) != REDIS_OK || reply == nullptr) {
        give_up(connection_->errstr);
    }
    return RealReply(static_cast<redisReply*>(reply));
}

}  // namespace rate_limit::simulated

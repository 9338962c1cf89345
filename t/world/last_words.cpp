#include "t/world/last_words.h"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdio>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace rate_limit::world {

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::array fatal = {SIGABRT};  // the sanitizer reports the others itself
constexpr const char* with = " SANITIZE=1";
#else
constexpr std::array fatal = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr const char* with = "";
#endif

std::array<char, 160> sentence;  // a handler of signals may not make them
std::size_t sentence_size = 0;

void say() noexcept {
    (void)!::write(STDERR_FILENO, sentence.data(), sentence_size);
}

/// The signal comes again when this returns, and ends the program as it would have.
void on_fatal(int signal) noexcept {
    say();
    (void)std::raise(signal);
}

void on_time(int /*signal*/) noexcept {
    say();
    ::_exit(1);
}

void handle(int signal, void (*handler)(int), int flags) noexcept {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    (void)::sigaction(signal, &action, nullptr);
}

void set_timer(int seconds) noexcept {
    itimerval timer{};
    timer.it_value.tv_sec = seconds;
    (void)::setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

LastWords::LastWords(std::uint64_t seed, int most_seconds, const char* kind) noexcept {
    const int length = std::snprintf(sentence.data(), sentence.size(),
                                     "seed %" PRIu64
                                     ": the world has not come to its end; see it again: "
                                     "make world %sSEED=%" PRIu64 "%s\n",
                                     seed, kind, seed, with);
    sentence_size = static_cast<std::size_t>(length);
    for (const int signal : fatal) {
        handle(signal, on_fatal, static_cast<int>(SA_RESETHAND));
    }
    handle(SIGPROF, on_time, 0);
    set_timer(most_seconds);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(say);
#endif
}

LastWords::~LastWords() {
    set_timer(0);
    sentence_size = 0;
    for (const int signal : fatal) {
        handle(signal, SIG_DFL, 0);
    }
}

}  // namespace rate_limit::world

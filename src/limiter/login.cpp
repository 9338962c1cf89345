#include "limiter/login.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace rate_limit {

namespace {

constexpr std::size_t longest_secret = 16'384;
constexpr Msec between_readings = 5'000;

/// Those of UTF-8 and of the two kinds of UTF-16.
constexpr std::array<std::string_view, 3> byte_order_marks = {"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"};

/// Reads a file that is open, as far as there is room in the text.
SecretFile read_open(int file, std::string& text) noexcept {
    struct stat kind {};
    if (::fstat(file, &kind) != 0) {
        return SecretFile::unreadable;
    }
    if (!S_ISREG(kind.st_mode)) {
        return SecretFile::no_file;
    }
    std::size_t length = 0;
    ssize_t more = 0;
    do {
        more = ::read(file, &text[length], text.size() - length);
        length += more > 0 ? static_cast<std::size_t>(more) : 0;
    } while ((more > 0 && length < text.size()) || (more < 0 && errno == EINTR));
    text.resize(length);
    return more < 0                  ? SecretFile::unreadable
           : length > longest_secret ? SecretFile::too_long
                                     : SecretFile::read;
}

/// The file at the path may be replaced at any time: so the open one is looked at. Opening it must not wait,
/// as for somebody who writes to a pipe.
SecretFile read_file(const char* path, std::string& text) {
    text.resize(longest_secret + 1);
    const int file = ::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        return errno == ENXIO ? SecretFile::no_file : SecretFile::unreadable;  // ENXIO: a socket, or a device
    }
    const SecretFile found = read_open(file, text);
    const int reason = errno;
    ::close(file);
    errno = reason;
    return found;
}

}  // namespace

SecretFile read_secret(const char* path, std::string& secret) {
    std::string text;
    const SecretFile found = read_file(path, text);
    if (found != SecretFile::read) {
        return found;
    }
    for (const std::string_view mark : byte_order_marks) {
        if (text.compare(0, mark.size(), mark) == 0) {
            return SecretFile::marked;
        }
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
        text.pop_back();
    }
    if (text.empty()) {
        return SecretFile::empty;
    }
    secret.swap(text);
    return SecretFile::read;
}

const char* explain(SecretFile found) noexcept {
    switch (found) {
        case SecretFile::unreadable:
            return "cannot be read";
        case SecretFile::no_file:
            return "is no regular file";
        case SecretFile::too_long:
            return "is longer than 16 KB";
        case SecretFile::empty:
            return "is empty";
        default:
            return "begins with a byte order mark";
    }
}

void Login::tell_unread(SecretFile found, int reason, const char* server, const std::string& store) const {
    const std::string why =
        found == SecretFile::unreadable ? " (" + std::generic_category().message(reason) + ")" : "";
    log_line(process_log(), LogLevel::error,
             "rate limit: %s of \"%s\" refuses the password, and a worker that reads its file again finds "
             "that \"%s\" %s%s: mend that, or reload, by which nginx reads it as the user that started it",
             server, store.c_str(), file.c_str(), explain(found), why.c_str());
}

bool Login::renew(const char* server, const std::string& store) const noexcept {
    const Msec now = msec_now();
    if (file.empty() || (tried_at_ && now - *tried_at_ < between_readings)) {
        return false;
    }
    tried_at_ = now;
    try {
        std::string text;
        const SecretFile found = read_secret(file.c_str(), text);
        const int reason = found == SecretFile::unreadable ? errno : 0;
        if (found != SecretFile::read && (found != told_ || reason != told_reason_)) {
            tell_unread(found, reason, server, store);
        }
        told_ = found;
        told_reason_ = reason;
        if (found == SecretFile::read && text != password) {
            password.swap(text);
            log_line(process_log(), LogLevel::notice,
                     "rate limit: %s of \"%s\" refused the password; \"%s\" has another one by now", server,
                     store.c_str(), file.c_str());
            return true;
        }
    } catch (...) {
        // without memory it stays as it is
    }
    return false;
}

}  // namespace rate_limit

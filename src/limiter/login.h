#pragma once

#include <optional>
#include <string>

#include "limiter/loop.h"

namespace rate_limit {

/// The result of reading a file with a secret.
enum class SecretFile : unsigned char { read, unreadable, no_file, too_long, empty, marked };

/// Reads a secret, without the line ends that editors leave behind it, from a file of at most 16 KB: no
/// server takes more before a log in. Never waits, whatever the path names. `secret` changes only where it
/// was read; errno says why a file is unreadable.
SecretFile read_secret(const char* path, std::string& secret);

/// The fault of the file: static text that goes behind its path. Not for SecretFile::read.
const char* explain(SecretFile found) noexcept;

/// The user and password by which a worker logs in to the servers of a store, or to its sentinels.
struct Login {
    std::string username;  ///< empty: a password alone
    std::string file;      ///< where the password is read from; empty: it stands in the configuration

    /// This worker's; empty: none is needed.
    mutable std::string password;

    /// A server has refused the password: reads the file again, once in 5 s at most, so that the next
    /// connection logs in by what it says now. True: that is another password. The log says what has come of
    /// it, and names the one that refused: `server` of `store`.
    bool renew(const char* server, const std::string& store) const noexcept;

private:
    void tell_unread(SecretFile found, int reason, const char* server, const std::string& store) const;

    mutable std::optional<Msec> tried_at_;
    mutable SecretFile told_ = SecretFile::read;
    mutable int told_reason_ = 0;  // of SecretFile::unreadable
};

}  // namespace rate_limit

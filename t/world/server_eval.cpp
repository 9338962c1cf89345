#include <array>
#include <string>

#include <openssl/evp.h>

#include "t/world/server.h"
#include "t/world/server_numbers.h"
#include "t/world/server_scripts.h"

namespace rate_limit::world {
namespace {

std::string digest_of(std::string_view text) {
    constexpr char hex[] = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    EVP_Digest(text.data(), text.size(), raw.data(), nullptr, EVP_sha1(), nullptr);
    std::string digest;
    for (std::size_t i = 0; i < 20; ++i) {
        digest += hex[raw[i] >> 4];
        digest += hex[raw[i] & 15];
    }
    return digest;
}

/// How many of the words are keys; -1 where that makes no sense, which is answered then.
std::int64_t count_keys(Call& call) {
    std::int64_t count = 0;
    if (!read_integer(call.words[2], count)) {
        call.reply.error(no_integer);
        return -1;
    }
    if (count > static_cast<std::int64_t>(call.words.size()) - 3) {
        call.reply.error("ERR Number of keys can't be greater than number of args");
        return -1;
    }
    if (count < 0) {
        call.reply.error("ERR Number of keys can't be negative");
    }
    return count;
}

void run(Call& call, std::string_view digest) {
    const std::int64_t count = count_keys(call);
    if (count < 0) {
        return;
    }
    Scripts& scripts = call.server.scripts();
    Scripts::Function function = scripts.find(digest);
    if (function == Scripts::unknown) {
        const std::string error = call.command.name == "evalsha"
                                      ? "NOSCRIPT No matching script. Please use EVAL."
                                      : scripts.load(call.words[1], digest);
        if (!error.empty()) {
            call.reply.error(error);
            return;
        }
        function = scripts.find(digest);
    }
    const auto keys = static_cast<std::size_t>(count);
    scripts.run(call, function, {call.words.begin() + 3, keys}, call.words.from(3 + keys));
}

}  // namespace

void run_eval(Call& call) {
    run(call, digest_of(call.words[1]));
}

void run_evalsha(Call& call) {
    run(call, call.words[1]);
}

void run_script_load(Call& call) {
    const std::string digest = digest_of(call.words[2]);
    const std::string error = call.server.scripts().load(call.words[2], digest);
    if (!error.empty()) {
        call.reply.error(error);
    } else {
        call.reply.bulk(digest);
    }
}

void run_script_exists(Call& call) {
    const Words digests = call.words.from(2);
    call.reply.array(digests.size());
    for (const std::string_view digest : digests) {
        call.reply.integer(call.server.scripts().find(digest) != Scripts::unknown ? 1 : 0);
    }
}

void run_script_flush(Call& call) {
    const Words how = call.words.from(2);
    if (how.size() > 1 || (how.size() == 1 && !is_word(how[0], "sync") && !is_word(how[0], "async"))) {
        call.reply.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    call.server.forget_scripts();
    call.reply.status("OK");
}

}  // namespace rate_limit::world

// Whatever a server says, a redirect names a slot of a cluster and a server that can be connected to, and
// says what the text says. The same bytes as a key have the slot that a simpler calculation in this file
// finds.

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/keys/routes.h"
#include "redis/topology/redirect.h"
#include "require.h"

namespace rate_limit {
namespace {

/// Without the leading zeros of the slot and the port.
std::string plain(const Redirect& redirect, std::string_view host) {
    const char* word = redirect.kind == Redirect::Kind::moved ? "MOVED " : "ASK ";
    return word + std::to_string(redirect.slot) + ' ' + std::string(host) + ':' +
           std::to_string(redirect.to.port);
}

void check_redirect(const std::string& error) {
    const Endpoint asked{"asked.test", 7009};
    Redirect redirect;
    if (!read_redirect(error, asked, redirect)) {
        return;
    }
    require(redirect.slot < slot_count && redirect.to.port != 0);
    require(!redirect.to.host.empty() && redirect.to.host.size() <= 255);
    require(redirect.to.host.find_first_of("?[] \"\\\r\n\t") == std::string::npos);
    const bool named = error[error.rfind(':') - 1] != ' ';
    require(named || redirect.to.host == asked.host);
    const std::string text = plain(redirect, named ? redirect.to.host : "");
    require(error == text || error.size() > text.size());
    Redirect again;
    require(read_redirect(text, asked, again));
    require(again.kind == redirect.kind && again.slot == redirect.slot && again.to == redirect.to);
}

/// CRC-16 bit by bit, of what is between the first brace and the next closing one.
unsigned slot_of(std::string_view key) {
    for (std::size_t open = 0; open < key.size(); ++open) {
        if (key[open] == '{') {
            std::size_t close = open + 1;
            while (close < key.size() && key[close] != '}') {
                ++close;
            }
            if (close < key.size() && close > open + 1) {
                key = key.substr(open + 1, close - open - 1);
            }
            break;
        }
    }
    unsigned checksum = 0;
    for (const char c : key) {
        for (unsigned bit = 0x80; bit != 0; bit >>= 1U) {
            const bool carry = (checksum & 0x8000U) != 0;
            const bool one = (static_cast<unsigned char>(c) & bit) != 0;
            checksum = (checksum << 1U & 0xffffU) ^ (carry != one ? 0x1021U : 0U);
        }
    }
    return checksum & (slot_count - 1U);
}

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rate_limit;
    const std::string text(reinterpret_cast<const char*>(data), size);
    check_redirect(text);
    check_redirect("MOVED " + text);
    require(key_slot(text) == slot_of(text));
    return 0;
}

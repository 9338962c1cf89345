#pragma once

#include <array>
#include <cstddef>

#include "redis/script.h"
#include "t/differential/both.h"

namespace rate_limit::world {

// Each chooses a call, as the module may make it, and sends it.

void send_charge(Both& both);
void send_repair(Both& both);
void send_refund(Both& both);
void send_reserve(Both& both);
void send_bucket(Both& both);
void send_hold(Both& both);
void send_overrides(Both& both);
void send_penalty(Both& both);

struct Choice {
    ScriptName script;
    void (*send)(Both& both);
};

/// Each script, in the order of its names.
constexpr std::array<Choice, script_count> choices{{{ScriptName::charge, send_charge},
                                                    {ScriptName::repair, send_repair},
                                                    {ScriptName::reserve, send_reserve},
                                                    {ScriptName::refund, send_refund},
                                                    {ScriptName::bucket, send_bucket},
                                                    {ScriptName::hold, send_hold},
                                                    {ScriptName::overrides, send_overrides},
                                                    {ScriptName::penalty, send_penalty}}};

constexpr bool has_each_script() noexcept {
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (choices[i].script != static_cast<ScriptName>(i) || choices[i].send == nullptr) {
            return false;
        }
    }
    return true;
}
static_assert(has_each_script(), "each script is called");

/// One of the plain commands that the module sends.
void send_plain(Both& both);

/// Does to a key what other programs, other versions, or a failed disk may do.
void send_damage(Both& both);

/// A script with arguments as no machine sends them, or an odd plain command.
void send_anything(Both& both);

/// Compares what Redis says to commands and scripts that make no sense, one after the other. False if one
/// answer differs.
bool compare_words(Both& both);

/// Compares what Redis says in states in which it refuses commands. False if one answer differs.
bool compare_refusals(Both& both);

/// A limit's window, as a machine would open it now.
struct Period {
    std::int64_t seconds;
    WindowKind kind;
};
Period period_of(Both& both, KeyId key);
Opening opening_of(Both& both, KeyId key);
std::int64_t choose_cost(Both& both);
std::int64_t choose_limit(Both& both);

/// The reset of the window that is stored there; some other time where there is none, or now and then.
Millis choose_reset(Both& both, KeyId key);

/// A number of a call: a new one, that of an earlier call, or none.
Numbered choose_number(Both& both, KeyId key);

/// A bucket's nanoseconds for a token, and how many tokens it has.
struct Tokens {
    Nanos token;
    std::int64_t burst;
};
Tokens tokens_of(Both& both, KeyId key);

}  // namespace rate_limit::world

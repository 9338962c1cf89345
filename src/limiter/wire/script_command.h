#pragma once

#include "limiter/wire/command.h"
#include "limiter/wire/node.h"

namespace rate_limit {

/// A command that calls a script: by its digest, and once more with its text where the server does not know
/// it, and once more with the time where the server does not let scripts ask for it.
class ScriptCommand : public Command {
protected:
    explicit ScriptCommand(bool whole = false) noexcept : Command(whole) {}
    ~ScriptCommand() = default;

    void begin_by_digest() noexcept {
        with_text_ = false;
        with_time_ = false;
    }
    bool with_text() const noexcept { return with_text_; }

    /// ASKING holds for one command: there is no second try with the text.
    void before_ask() noexcept override { with_text_ = true; }

    /// True where the server needs the text of the script, or the time: the command is on its way again.
    bool send_again(Node& node, const Reply& reply) noexcept {
        const Fault fault = fault_of(reply);
        if (fault == Fault::noscript && !with_text_) {
            with_text_ = true;
        } else if (fault == Fault::notime && !with_time_) {
            with_time_ = true;
            node.tell_time();
        } else {
            return false;
        }
        node.submit(*this);
        return true;
    }

private:
    bool with_text_ = false;
    bool with_time_ = false;
};

}  // namespace rate_limit

#pragma once

#include "ngx/wire/command.h"
#include "ngx/wire/node.h"

namespace rate_limit {

/// A command that calls a script: by its digest, and once more with its text where the server does not know
/// it.
class ScriptCommand : public Command {
protected:
    explicit ScriptCommand(bool whole = false) noexcept : Command(whole) {}
    ~ScriptCommand() = default;

    void begin_by_digest() noexcept { with_text_ = false; }
    bool with_text() const noexcept { return with_text_; }

    /// ASKING holds for one command: there is no second try with the text.
    void before_ask() noexcept override { with_text_ = true; }

    /// True where the server does not know the script: the command is on its way again, with the text.
    bool send_text(Node& node, const Reply& reply) noexcept {
        if (with_text_ || fault_of(reply) != Fault::noscript) {
            return false;
        }
        with_text_ = true;
        node.submit(*this);
        return true;
    }

private:
    bool with_text_ = false;
};

}  // namespace rate_limit

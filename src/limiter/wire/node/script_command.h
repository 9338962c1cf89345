#pragma once

#include "limiter/wire/command.h"
#include "limiter/wire/node/node.h"
#include "redis/script_reply.h"

namespace rate_limit {

/// A command that calls a script: by its digest, and once more with its text where the server does not know
/// it, and once more with the time where the server does not let scripts ask for it.
class ScriptCommand : public Command {
public:
    std::string_view encode(CommandWriter& writer) final {
        const std::string_view bytes = write(writer);
        encoded_ = writer.encoded();
        return bytes;
    }

    const char* name() const noexcept final { return encoded_.name; }
    std::size_t words_of_script() const noexcept final { return encoded_.words; }

protected:
    explicit ScriptCommand(bool whole = false) noexcept : Command(whole) {}
    ~ScriptCommand() = default;

    void begin_by_digest() noexcept {
        with_text_ = false;
        with_time_ = false;
    }
    bool with_text() const noexcept { return with_text_; }

    /// encode(), by a function of the writer that CommandWriter::encoded() tells of.
    virtual std::string_view write(CommandWriter& writer) = 0;

    /// Whether it was a question to lua/bucket.lua.
    bool draws() const noexcept { return encoded_.draw.has_value(); }

    /// Decodes the answer to that, or else to one of the scripts that answer as charge.lua does.
    Fault read_told(const Reply& reply, Told& told) const noexcept {
        if (draws()) {
            return read_draw(reply, *encoded_.draw, now_millis(), told);
        }
        const Fault fault = read_charge(reply, told.window);
        told.wrote = told.window.reset != 0;
        return fault;
    }

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
    CommandWriter::Encoded encoded_;
    bool with_text_ = false;
    bool with_time_ = false;
};

}  // namespace rate_limit

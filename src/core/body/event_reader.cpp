#include "core/body/event_reader.h"

#include "core/body/line_ends.h"

namespace rate_limit {

namespace {

constexpr std::string_view data_field = "data";

}  // namespace

void EventReader::read(std::string_view piece) noexcept {
    LineEnds ends(piece);
    const char* at = piece.data();
    const char* const end = at + piece.size();
    while (at != end) {
        const char* const stop = ends.next(at);
        if (stop == at) {
            end_line(*at++);
        } else if (state_ == State::data) {
            document_.read({at, static_cast<std::size_t>(stop - at)});
            at = stop;
        } else if (state_ == State::other) {
            at = stop;
        } else if (state_ == State::space) {
            state_ = State::data;
            at += *at == ' ' ? 1 : 0;
        } else {
            take(*at++);
        }
    }
}

/// A byte of the name of a field, which begins a line.
void EventReader::take(char c) noexcept {
    if (state_ != State::name) {
        state_ = State::name;
        matched_ = 0;
    }
    if (matched_ < data_field.size() && c == data_field[matched_]) {
        ++matched_;
    } else {
        state_ = matched_ == data_field.size() && c == ':' ? State::space : State::other;
    }
}

/// The lines of one event's data are joined by a newline, which is white space behind the last one, too. An
/// empty line ends the event.
void EventReader::end_line(char c) noexcept {
    if (state_ == State::after_cr && c == '\n') {
        state_ = State::begin;
        return;
    }
    if (state_ == State::begin || state_ == State::after_cr) {
        document_.begin();
    } else if (state_ == State::data || state_ == State::space) {
        document_.read("\n");
    }
    state_ = c == '\r' ? State::after_cr : State::begin;
}

}  // namespace rate_limit

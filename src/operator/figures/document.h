#pragma once

#include <string>

namespace rate_limit {

/// A document of the console, written piece by piece: with many limits the whole takes longer than a turn of
/// the event loop may.
class Document {
public:
    Document() = default;
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;
    virtual ~Document() = default;

    /// Writes the next piece, which takes far less than a millisecond. False: the last one is written. Throws
    /// std::bad_alloc.
    virtual bool write_more() = 0;

    /// The text, once it is written. To be called once.
    virtual std::string take() = 0;
};

/// Writes the whole document at once: for what is short. Throws std::bad_alloc.
inline std::string write_whole(Document& document) {
    while (document.write_more()) {
    }
    return document.take();
}

}  // namespace rate_limit

#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/text/form.h"
#include "limiter/kinds/bucket.h"
#include "operator/acts/act_result.h"
#include "operator/page/forms.h"

namespace rate_limit {

/// Words of the page for windows alone, for buckets alone, and for both: a limit with a variable burst has
/// buckets and windows.
struct WordsOfKinds {
    constexpr WordsOfKinds(const char* same) noexcept : windows(same), buckets(same), both(same) {}
    constexpr WordsOfKinds(const char* windows, const char* buckets, const char* both) noexcept
        : windows(windows), buckets(buckets), both(both) {}

    std::string_view of(const std::vector<SeenWindow>& all) const noexcept {
        const auto is_bucket = [](const SeenWindow& window) { return window.kind == &token_buckets; };
        const bool none = std::none_of(all.begin(), all.end(), is_bucket);
        return none ? windows : std::all_of(all.begin(), all.end(), is_bucket) ? buckets : both;
    }

    std::string_view windows;
    std::string_view buckets;
    std::string_view both;
};

/// An act that a form of the page posts.
struct ActForm;

/// The act that was posted; null: none was, or it is a look-up.
const ActForm* find_form(const Form& form) noexcept;

// Words of the page for an act.
std::string_view button_of(const ActForm& act) noexcept;
std::string_view done_by(const ActForm& act) noexcept;  ///< a sentence

/// Everything that the forms of a page have in common.
struct ActsOfKey {
    const Configuration& main;
    const PageView& view;
    const Form& form;  ///< that was posted
    KeyField key;      ///< empty: the acts are of a whole limit
};

// All throw std::bad_alloc.

/// A form for each act that there is on one limit, of those on windows where there are any.
void write_act_forms(HtmlText& html, const ActsOfKey& of, const SeenLimit& limit);

/// Acts that are of all limits of the key.
void write_acts_of_all(HtmlText& html, const ActsOfKey& of);

/// The act that has been done, the other way round: the override of before holds again as long as it would
/// have, or the new one ends.
void write_undo(HtmlText& html, const ActsOfKey& of, const SeenLimit& limit);

/// One undo of all limits at once, where none had an override before.
void write_undo_of_all(HtmlText& html, const ActsOfKey& of, const ActResult& result);

/// The act as it was posted, for the operator to say it once more.
void write_question(HtmlText& html, const ActsOfKey& of, const ActResult& result);

}  // namespace rate_limit

#include "ngx/conf/value.h"

#include <algorithm>

#include "ngx/conf/conf.h"

namespace rate_limit {

namespace {

ngx_uint_t& slot_of(void* conf, const ngx_command_t* command) noexcept {
    return *reinterpret_cast<ngx_uint_t*>(static_cast<char*>(conf) + command->offset);
}

bool is_letter(u_char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

ngx_int_t compile(ngx_conf_t* cf, ngx_str_t text, ngx_http_complex_value_t* value) noexcept {
    ngx_http_compile_complex_value_t compile{};
    compile.cf = cf;
    compile.value = &text;
    compile.complex_value = value;
    return ngx_http_compile_complex_value(&compile);
}

ngx_http_complex_value_t* compiled(ngx_conf_t* cf, ngx_str_t text) noexcept {
    auto* value =
        static_cast<ngx_http_complex_value_t*>(ngx_pcalloc(cf->pool, sizeof(ngx_http_complex_value_t)));
    return value != nullptr && compile(cf, text, value) == NGX_OK ? value : nullptr;
}

bool is_name(std::string_view text, std::size_t most) noexcept {
    return !text.empty() && text.size() <= most && std::all_of(text.begin(), text.end(), [](u_char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    });
}

char* refuse_inner_quotes(ngx_conf_t* cf, const ngx_str_t& word) noexcept {
    const std::string_view text = view(word);
    const auto equals = text.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    if (value.empty() || (value.front() != '"' && value.front() != '\'')) {
        return NGX_CONF_OK;
    }
    const char quote = value.front();
    const bool closed = value.size() > 1 && value.back() == quote;
    const ngx_str_t name = {equals, word.data};
    const ngx_str_t inner = {value.size() - (closed ? 2 : 1), word.data + equals + 2};
    return refuse(cf,
                  "the quotes of \"%V\" in \"%V\" would be part of the value: quote the whole word, "
                  "%c%V=%V%s%c",
                  &word, &words_of(cf)[0], quote, &name, &inner, closed ? "" : " ...", quote);
}

/// A directive begins with a letter and holds no '='. Most wrong values begin otherwise, or hold one.
const char* ask_for_semicolon(ngx_conf_t* cf, ngx_uint_t at) noexcept {
    const ngx_str_t& word = words_of(cf)[at];
    const bool directive =
        at > 1 && word.len != 0 && is_letter(word.data[0]) && view(word).find('=') == std::string_view::npos;
    return directive ? "; is a \";\" missing before it?" : "";
}

char* set_choice(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    ngx_uint_t& slot = slot_of(conf, command);
    if (slot != NGX_CONF_UNSET_UINT) {
        return duplicate;
    }
    const ngx_str_t& word = words_of(cf)[1];
    const auto* choices = static_cast<const ngx_conf_enum_t*>(command->post);
    u_char names[128];
    u_char* end = names;
    for (const ngx_conf_enum_t* choice = choices; choice->name.len != 0; ++choice) {
        if (view(choice->name) == view(word)) {
            slot = choice->value;
            return NGX_CONF_OK;
        }
        end = ngx_slprintf(end, names + sizeof names, "%s\"%V\"", end == names ? "" : ", ", &choice->name);
    }
    const ngx_str_t known = {static_cast<std::size_t>(end - names), names};
    return refuse(cf, "invalid value \"%V\" in \"%V\": it is one of %V", &word, &command->name, &known);
}

char* set_number(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    ngx_uint_t& slot = slot_of(conf, command);
    if (slot != NGX_CONF_UNSET_UINT) {
        return duplicate;
    }
    const ngx_str_t& word = words_of(cf)[1];
    const auto& bounds = *static_cast<const Bounds*>(command->post);
    const ngx_int_t number = ngx_atoi(word.data, word.len);
    if (number < bounds.least || number > bounds.most) {
        return refuse(cf, "invalid number \"%V\" in \"%V\": it is a whole number from %i to %i", &word,
                      &command->name, bounds.least, bounds.most);
    }
    slot = static_cast<ngx_uint_t>(number);
    return NGX_CONF_OK;
}

}  // namespace rate_limit

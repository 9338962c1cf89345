#include "ngx/conf/value.h"

#include <algorithm>

#include "core/value_text.h"
#include "ngx/conf/conf.h"
#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

ngx_uint_t& slot_of(void* conf, const ngx_command_t* command) noexcept {
    return *reinterpret_cast<ngx_uint_t*>(static_cast<char*>(conf) + command->offset);
}

bool is_letter(u_char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

ngx_int_t refuse_part(ngx_conf_t* cf, const ngx_str_t& text, const ValuePart& part) noexcept {
    const ngx_str_t name = str(part.text);
    if (part.kind == ValuePart::Kind::unclosed) {
        refuse(cf, "the closing bracket of \"${%V\" is missing in \"%V\" of \"%V\": write \"${name}\"", &name,
               &text, &words_of(cf)[0]);
    } else {
        refuse(cf,
               "invalid variable name in \"%V\" of \"%V\": a name follows \"$\"; for a dollar itself write "
               "\"geo $dollar { default $; }\" in \"http\", and \"${dollar}\" here",
               &text, &words_of(cf)[0]);
    }
    return NGX_ERROR;
}

ngx_int_t compile_part(ngx_conf_t* cf, const ValuePart& from, Value::Part& part) noexcept {
    if (from.kind == ValuePart::Kind::literal) {
        part.kind = Value::Part::Kind::literal;
        part.literal = str(from.text);
        return NGX_OK;
    }
    if (from.kind == ValuePart::Kind::capture) {
#if (NGX_PCRE)
        part.kind = Value::Part::Kind::capture;
        part.index = static_cast<ngx_uint_t>(from.text.front() - '0');
        return NGX_OK;
#else
        refuse(cf, "\"$%c\" in \"%V\" needs an nginx with the PCRE library", from.text.front(),
               &words_of(cf)[0]);
        return NGX_ERROR;
#endif
    }
    ngx_str_t name = str(from.text);
    const ngx_int_t index = ngx_http_get_variable_index(cf, &name);
    if (index == NGX_ERROR) {
        return NGX_ERROR;
    }
    part.kind = Value::Part::Kind::variable;
    part.index = static_cast<ngx_uint_t>(index);
    part.of_end = is_of_end(from.text);
    return NGX_OK;
}

}  // namespace

ngx_int_t compile(ngx_conf_t* cf, ngx_str_t text, Value& value) noexcept {
    value = {text, nullptr, 0, false, false};
    if (view(text).find('$') == std::string_view::npos) {
        return NGX_OK;
    }
    ngx_uint_t count = 0;
    for (ValueText rest(view(text)); !rest.at_end(); ++count) {
        const ValuePart part = rest.next();
        if (part.is_error()) {
            return refuse_part(cf, text, part);
        }
    }
    auto* parts = static_cast<Value::Part*>(ngx_pcalloc(cf->pool, count * sizeof(Value::Part)));
    if (parts == nullptr) {
        return NGX_ERROR;
    }
    ValueText rest(view(text));
    for (ngx_uint_t i = 0; i < count; ++i) {
        if (compile_part(cf, rest.next(), parts[i]) != NGX_OK) {
            return NGX_ERROR;
        }
        value.of_end = value.of_end || parts[i].of_end;
    }
    const auto has_no_value = [](std::string_view name) {
        return is_of_response(name) || is_of_decision(name);
    };
    value.too_early = !find_variable(value, has_no_value).empty();
    value.parts = parts;
    value.count = count;
    return NGX_OK;
}

Value* compiled(ngx_conf_t* cf, ngx_str_t text) noexcept {
    auto* value = static_cast<Value*>(ngx_pcalloc(cf->pool, sizeof(Value)));
    return value != nullptr && compile(cf, text, *value) == NGX_OK ? value : nullptr;
}

bool same_value(const Value& a, const Value& b) noexcept {
    if (a.is_constant() || b.is_constant()) {
        return a.is_constant() && b.is_constant() && view(a.text) == view(b.text);
    }
    return std::equal(a.parts, a.parts + a.count, b.parts, b.parts + b.count,
                      [](const Value::Part& one, const Value::Part& other) {
                          return one.kind == other.kind && one.index == other.index &&
                                 view(one.literal) == view(other.literal);
                      });
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
    return refuse(
        cf, "the quotes of \"%V\" in \"%V\" would be part of the value: quote the whole word, %c%V=%V%s%c",
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

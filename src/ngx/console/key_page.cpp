#include "ngx/console/key_page.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/form.h"
#include "ngx/base/response.h"
#include "ngx/base/resume.h"
#include "ngx/conf/conf.h"
#include "ngx/console/access.h"
#include "ngx/console/answer.h"
#include "operator/acts/acting.h"
#include "operator/html/frame.h"
#include "operator/page/key_html.h"

namespace rate_limit {

namespace {

/// A longer form is refused.
constexpr off_t most_posted = 8192;

/// False where a buffer in a file cannot be read.
bool append_buffer(ngx_buf_t& buffer, std::string& body) {
    if (ngx_buf_in_memory(&buffer) != 0) {
        body.append(reinterpret_cast<const char*>(buffer.pos),
                    static_cast<std::size_t>(buffer.last - buffer.pos));
        return true;
    }
    const std::size_t before = body.size();
    const auto size = static_cast<std::size_t>(ngx_buf_size(&buffer));
    body.resize(before + size);
    auto* to = reinterpret_cast<u_char*>(body.data() + before);
    return size == 0 || ngx_read_file(buffer.file, to, size, buffer.file_pos) == static_cast<ssize_t>(size);
}

/// The body that nginx has read, wherever it keeps it; empty: it is longer than most_posted, or cannot be
/// read.
std::optional<std::string> posted_body(const ngx_http_request_t& r) {
    std::string body;
    if (r.request_body == nullptr) {
        return body;
    }
    for (const ngx_chain_t* link = r.request_body->bufs; link != nullptr; link = link->next) {
        const auto size = static_cast<off_t>(ngx_buf_size(link->buf));
        if (size > most_posted - static_cast<off_t>(body.size()) || !append_buffer(*link->buf, body)) {
            return std::nullopt;
        }
    }
    return body;
}

/// An act, and the request that has posted it and waits. Lives in the request's pool.
class PostedAct final : private Poster {
public:
    PostedAct(ngx_http_request_t* r, Form form)
        : resumable_(r), act_(*main_conf(r), location_conf(r)->console.rights, *this, std::move(form)) {}
    ~PostedAct() { forget_resumption(resumable_); }

    /// The one that the request waits for; null: it has begun none.
    static PostedAct* find(ngx_http_request_t* r) noexcept {
        return find_at_end<PostedAct>(*r->pool, destroy<PostedAct>, [r](const PostedAct& posted) {
            return posted.resumable_.request == r;
        });
    }

    /// Lets the request wait: its content handler is called again when the act can go on.
    void wait() noexcept {
        resumable_.request->read_event_handler = ngx_http_block_reading;
        resumable_.request->write_event_handler = ignore_write;
        act_.wait();
    }

    Acting& act() noexcept { return act_; }

private:
    std::string_view address() const noexcept override {
        return view(resumable_.request->connection->addr_text);
    }
    std::string_view user() const noexcept override { return view(resumable_.request->headers_in.user); }
    Log& log() const noexcept override { return log_of(*resumable_.request->connection->log); }
    RequestMemory& memory() const noexcept override { return memory_of(*resumable_.request->pool); }
    void resume() noexcept override { resume_soon(resumable_); }

    Resumable resumable_;
    Acting act_;
};

PageView view_of(ngx_http_request_t* r) {
    PageView view = PageView::of(location_name(r), {}).value_or(PageView());
    view.shows_keys = location_conf(r)->console.rights.plain_keys;
    return view;
}

/// The result of an act, or why there is none, with the form: as the client wants it.
std::unique_ptr<Document> tell_act(ngx_http_request_t* r, const Form& form, const ActResult& result) {
    return wants_html(*r) ? tell_act_html(*main_conf(r), view_of(r), form, result) : tell_act_json(result);
}

std::string_view type_for(const ngx_http_request_t* r) noexcept {
    return wants_html(*r) ? html_type : "application/json";
}

ngx_int_t send_result(ngx_http_request_t* r, const Form& form, const ActResult& result) {
    if (result.error == ActError::method_not_allowed && add_field(r, "Allow", "GET, HEAD, POST") != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    return send_page(r, status_of(result.error), type_for(r), write_whole(*tell_act(r, form, result)));
}

ngx_int_t refuse_act(ngx_http_request_t* r, ActError error, std::string_view description,
                     const Form& form = Form()) {
    return send_result(r, form, ActResult::failed(error, std::string(description)));
}

bool is_form(const ngx_http_request_t& r) noexcept {
    constexpr std::string_view type = "application/x-www-form-urlencoded";
    const RequestField field = find_field(r, "content-type");
    std::string_view value = field.value.substr(0, field.value.find(';'));
    while (!value.empty() && value.back() == ' ') {
        value.remove_suffix(1);
    }
    return field.count == 1 && equal_in_any_case(value, type);
}

const char* describe(Form::Error error) noexcept {
    switch (error) {
        case Form::Error::twice:
            return "A field is there twice.";
        case Form::Error::many:
            return "The form has more than 32 fields.";
        default:
            return "The form has a \"%\" without two hex digits after it.";
    }
}

/// NGX_DONE while it waits.
ngx_int_t go_on(ngx_http_request_t* r, PostedAct& posted) {
    Acting& acting = posted.act();
    if (acting.go_on()) {
        return acting.result.error == ActError::none
                   ? tell(r, type_for(r),
                          tell_act(r, acting.form(), acting.result))  // it may be of many limits
                   : send_result(r, acting.form(), acting.result);
    }
    posted.wait();
    return NGX_DONE;
}

/// The body is there. NGX_DONE while it waits.
ngx_int_t act(ngx_http_request_t* r) {
    const std::optional<std::string> body = posted_body(*r);
    if (!body) {
        return refuse_act(r, ActError::too_large, "The form is too long.");
    }
    Form form;
    const Form::Error error = form.parse(*body);
    if (error != Form::Error::none) {
        return refuse_act(r, ActError::bad_parameter, describe(error), form);
    }
    PostedAct* posted = make<PostedAct>(*r->pool, r, std::move(form));
    return posted != nullptr ? go_on(r, *posted) : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

/// nginx has read the body. While the act waits, the request is as if its content handler had returned
/// NGX_DONE.
void on_form(ngx_http_request_t* r) noexcept {
    ngx_int_t status = NGX_HTTP_INTERNAL_SERVER_ERROR;
    try {
        status = act(r);
    } catch (...) {
        status = NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    if (status != NGX_DONE) {
        ngx_http_finalize_request(r, status);
    }
}

ngx_int_t read_form(ngx_http_request_t* r) {
    if (is_cross_origin(*r)) {
        return send_error(r, ActError::cross_origin,
                          "A page of another origin has sent this: acts come from the console's own page, or "
                          "from a client that is no browser.");
    }
    if (!is_form(*r)) {
        return refuse_act(r, ActError::unsupported_type,
                          "Acts are posted as application/x-www-form-urlencoded.");
    }
    if (r->headers_in.content_length_n > most_posted) {
        return refuse_act(r, ActError::too_large, "The form is too long.");
    }
    const ngx_int_t status = ngx_http_read_client_request_body(r, on_form);
    return status >= NGX_HTTP_SPECIAL_RESPONSE ? status : NGX_DONE;
}

}  // namespace

ngx_int_t answer_key(ngx_http_request_t* r, const char* forbidden) {
    if (forbidden != nullptr) {
        return send_error(r, ActError::forbidden, forbidden);  // the form names limits and stores
    }
    if (r == r->main && (r->method & NGX_HTTP_POST) != 0) {
        return read_form(r);
    }
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
        return refuse_act(r, ActError::method_not_allowed, "It is read by GET or HEAD, and acts are posted.");
    }
    return send_page(r, NGX_HTTP_OK, html_type, write_key_form(*main_conf(r), view_of(r)));
}

ngx_int_t go_on_with_key(ngx_http_request_t* r) {
    PostedAct* posted = PostedAct::find(r);
    if (posted == nullptr) {
        return NGX_DECLINED;
    }
    const ngx_int_t status = go_on(r, *posted);
    r->main->count += status == NGX_DONE ? 1 : 0;  // nginx takes one back when a content handler returns it
    return status;
}

}  // namespace rate_limit

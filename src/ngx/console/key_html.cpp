#include "ngx/console/key_html.h"

#include <string_view>

namespace rate_limit {

namespace {

std::string escaped(std::string_view text) {
    std::string written;
    for (const char c : text) {
        switch (c) {
            case '&':
                written += "&amp;";
                break;
            case '<':
                written += "&lt;";
                break;
            case '>':
                written += "&gt;";
                break;
            default:
                written += c;
        }
    }
    return written;
}

std::string page(const std::string& content) {
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Rate "
           "limits</title></head>"
           "<body>\n" +
           content +
           "<form method=\"post\" action=\"key\">\n"
           "<p><label>Key <input name=\"key\"></label> <label>Limit <input name=\"limit\"></label> "
           "<label>Store <input name=\"store\"></label> <label>Period <input name=\"period\"></label></p>\n"
           "<p><button>Look up</button> <button name=\"do\" value=\"reset\">Reset</button></p>\n"
           "</form></body></html>\n";
}

}  // namespace

std::string write_key_form(const MainConf& /*main*/) {
    return page("");
}

std::string write_act_html(const MainConf& /*main*/, const Form& /*form*/, const ActResult& result) {
    return page("<pre>" + escaped(write_act_json(result)) + "</pre>\n");
}

}  // namespace rate_limit

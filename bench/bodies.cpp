// The processor time of the thread that it costs to find fields in bodies. One body is a stream of events as
// model servers send them, in pieces as a socket gives them, and with long texts; another is a JSON document
// of 1 KB.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "core/body/body_reader.h"

namespace {

using namespace rate_limit;

constexpr double least_gigabytes = 0.3;
constexpr std::size_t piece = 8192;
constexpr int rounds = 5;
bool too_slow = false;

double seconds() {
    timespec spent{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

BodyFields fields_of(const std::vector<std::vector<std::string_view>>& fields) {
    BodyFields wanted;
    for (const auto& paths : fields) {
        wanted.begin_field();
        for (const std::string_view text : paths) {
            BodyPath path;
            if (path.parse(text) != nullptr || !wanted.add(path)) {
                std::exit(1);
            }
        }
    }
    return wanted;
}

std::string chunk(const std::string& content) {
    return "data: "
           "{\"id\":\"chatcmpl-8fG2kLmN0pQrStUvWxYz\",\"object\":\"chat.completion.chunk\",\"created\":"
           "1694268190,"
           "\"model\":\"gpt-4o-mini-2024-07-18\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{"
           "\"index\":0,"
           "\"delta\":{\"content\":\"" +
           content + "\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n";
}

std::string stream(const std::string& content, std::size_t chunks) {
    std::string body;
    for (std::size_t i = 0; i < chunks; ++i) {
        body += chunk(content);
    }
    return body +
           "data: "
           "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":93,\"total_tokens\":100}}"
           "\n\n"
           "data: [DONE]\n\n";
}

/// Reads the body `times` times, the fastest of some rounds counts.
void measure(const char* name, const BodyFields& wanted, BodyKind kind, std::string_view body, int times) {
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const double begin = seconds();
        for (int i = 0; i < times; ++i) {
            std::vector<BodyValue> values(wanted.size());
            BodyReader reader(wanted, kind, values.data());
            for (std::size_t at = 0; at < body.size(); at += piece) {
                reader.read(body.substr(at, piece));
            }
            reader.end();
            if (values[0].text() != "100") {
                std::exit(1);
            }
        }
        best = std::min(best, seconds() - begin);
    }
    const double gigabytes = static_cast<double>(body.size()) * times / best / 1e9;
    const bool slow = kind == BodyKind::events && gigabytes < least_gigabytes;
    too_slow = too_slow || slow;
    std::printf("%-34s %6.2f GB/s %8.2f us a body%s\n", name, gigabytes, best / times * 1e6,
                slow ? "  TOO SLOW" : "");
}

}  // namespace

int main() {
    const BodyFields one = fields_of({{"usage.total_tokens"}});
    const BodyFields three = fields_of({{"usage.total_tokens", "message.usage.total_tokens"},
                                        {"usage.prompt_tokens", "message.usage.input_tokens"},
                                        {"choices.*.finish_reason"}});
    const std::string tokens = stream(" token", 40'000);
    const std::string texts = stream(std::string(2000, 'x'), 4'000);
    const std::string document =
        "{\"id\":\"chatcmpl-123\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
        "\"content\":\"" +
        std::string(800, 'x') + "\"},\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":100}}";
    measure("events, one field", one, BodyKind::events, tokens, 1);
    measure("events, three fields, five paths", three, BodyKind::events, tokens, 1);
    measure("events of long texts", one, BodyKind::events, texts, 1);
    measure("a document of 1 KB", one, BodyKind::json, document, 10'000);
    return too_slow ? 1 : 0;
}

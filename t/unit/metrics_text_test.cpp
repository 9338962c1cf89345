#include "core/text/metrics_text.h"

#include <gtest/gtest.h>

namespace rate_limit::metrics_text_test {
namespace {

TEST(MetricsText, WritesFamiliesAndTheirSamples) {
    MetricsText text;
    text.family("requests_total", MetricsText::Type::counter, "Requests.");
    text.sample({{"outcome", "passed"}}, std::uint64_t{3});
    text.sample({{"outcome", "rejected"}, {"store", "a b"}}, ~std::uint64_t{0});
    text.family("up", MetricsText::Type::gauge, "Up.");
    text.sample({}, 1795406438.909);
    EXPECT_EQ(text.take(),
              "# HELP nginx_rate_limit_requests_total Requests.\n"
              "# TYPE nginx_rate_limit_requests_total counter\n"
              "nginx_rate_limit_requests_total{outcome=\"passed\"} 3\n"
              "nginx_rate_limit_requests_total{outcome=\"rejected\",store=\"a b\"} 18446744073709551615\n"
              "# HELP nginx_rate_limit_up Up.\n"
              "# TYPE nginx_rate_limit_up gauge\n"
              "nginx_rate_limit_up 1795406438.909\n");
}

TEST(MetricsText, EscapesValuesOfLabels) {
    MetricsText text;
    text.family("x", MetricsText::Type::histogram, "X.");
    text.sample({{"limit", "a\"b\\c\nd"}}, 0.00025, "_bucket");
    EXPECT_EQ(text.take(),
              "# HELP nginx_rate_limit_x X.\n"
              "# TYPE nginx_rate_limit_x histogram\n"
              "nginx_rate_limit_x_bucket{limit=\"a\\\"b\\\\c\\nd\"} 0.00025\n");
}

}  // namespace
}  // namespace rate_limit::metrics_text_test

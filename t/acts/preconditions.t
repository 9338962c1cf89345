# A client's preconditions about a version that it knows change no answer: an act that was done is never answered 304 or 412, nor is a page or a
# report.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_key k;',
    server => 'location /limits/ { rate_limit_console manage; } location = /report { rate_limit_report; rate_limit 5r/h; }
        location / { rate_limit 5r/h; }',
);
for my $said (
    ['If-Match', '"x"'],
    ['If-None-Match', '*'],
    ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['If-Modified-Since', 'Thu, 01 Jan 2099 00:00:00 GMT'],
) {
    is $nginx->act('do=reset&key=k&limit=default', @$said)->status, 200, "an act with $said->[0]";
    is $nginx->get($_, @$said)->status, 200, "$_ with $said->[0]" for '/limits/', '/limits/json', '/limits/metrics', '/report';
}

done;

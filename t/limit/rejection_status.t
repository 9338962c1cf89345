# rate_limit_status and rate_limit_error_status: any code from 400 to 599; what an error denies is not
# charged.

use RateLimit::Test;

my @codes  = (400, 401, 403, 418, 429, 503, 599);
my $shards = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('main') . '
        rate_limit_redis gone { shard a primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_key all; rate_limit_store main;',
    server => join "\n", 'location /default { rate_limit 0r/h; }
        location /denied { rate_limit 9r/h store=gone; rate_limit_on_error deny; }
        location /both { rate_limit 9r/h store=gone; rate_limit 9r/h name=other; rate_limit_on_error deny; }
        location /closed { rate_limit 0r/h; rate_limit_status 444; }',
        map { "location /rejected$_ { rate_limit 0r/h; rate_limit_status $_; }
            location /denied$_ { rate_limit 9r/h store=gone; rate_limit_on_error deny;
                rate_limit_error_status $_; }" } @codes,
);

is $nginx->get('/default')->status, 429, 'rejected: 429';
is $nginx->get('/denied')->status, 503, 'denied: 503';
for my $code (@codes) {
    shows $nginx->get("/rejected$code"), $code, {retry_after => 3600}, "rejected: $code, with headers";
    my $denied = $nginx->get("/denied$code");
    is $denied->status, $code, "denied: $code";
    is_deeply limits($denied), {retry_after => 1}, 'with Retry-After alone';
}
is_deeply limits($nginx->get('/both')), {retry_after => 1}, 'beside a window that is known, too';
my $closed = $nginx->begin('/closed');
ok $closed->at_end && $closed->{buffer} eq '', '444 closes the connection';
my ($status, $text);
for my $code (399, 600) {
    for my $directive ('rate_limit_status', 'rate_limit_error_status') {
        ($status, $text) = RateLimit::Nginx->test_config("$directive $code;");
        ok $status && $text =~ /"$directive".* 400 to 599/, "$directive $code is refused";
    }
}
$nginx->stop;
is_deeply [$shards->primary(0)->keys], [], 'what is denied is not charged';

done;

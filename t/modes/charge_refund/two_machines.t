# Two machines at one limit pass exactly what it allows, whatever each of them knows: where both charge by plain increments
# at once, what goes too far is given back.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my @nginx = map {
    RateLimit::Nginx->start(
        workers => 2, reuseport => 1,
        http => redis_block('main', $redis),
        server => 'rate_limit_key $http_x_key; rate_limit_mode charge_refund;
            location / { rate_limit 400r/h store=main; } location /three { rate_limit 401r/h name=three cost=3 store=main; }',
    )
} 1 .. 2;

parallel(port => [map { $_->port } @nginx], connections => 40, requests => 40, uri => '/x', headers => ['X-Key' => 'first']);
let_connections_age();
for my $round (1 .. 5) {
    for (['/x', 400, 'default', 400], ['/three', 133, 'three', 399]) {
        my ($uri, $passes, $name, $stored) = @$_;
        my @responses = parallel(port => [map { $_->port } @nginx], connections => 40, requests => 600, uri => $uri,
            headers => ['X-Key' => $round]);
        is_deeply statuses(@responses), {200 => $passes, 429 => 600 - $passes}, "$uri, round $round: exactly the limit";
        is $redis->used($round, "$name/3600"), $stored, 'is stored';
    }
}
cmp_ok $redis->script_calls, '<', 1000, 'most of it by plain increments';

done;

# Charges that wait for their batch when nginx is stopped gracefully leave before their worker does.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
for my $round (1 .. 15) {
    my $nginx = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', $redis));
    my $http  = $nginx->http;
    $http->get('/x', 'X-Key' => $round) for 1 .. 20;
    $nginx->stop;
    is $redis->used($round), 20, "round $round: all are charged";
}

done;

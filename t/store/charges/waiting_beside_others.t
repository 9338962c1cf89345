# Charges that wait for a primary are found among those that wait for another one that stays away, also where there is more to
# look through than one turn of the event loop does.

use RateLimit::Test;

my ($few, $many) = (700, 3000);
for my $zone ('8m', '64m') {
    my $redis = RateLimit::Redis->start;
    my $nginx = RateLimit::Nginx->start(
        http => redis_block('main', $redis, timeouts('60s'))
            . redis_block('away', '127.0.0.1:%%PORT_1%%') . "rate_limit_zone $zone;" . '
            rate_limit_key $arg_k;
            server { listen 127.0.0.1:%%PORT%%;
                location / { rate_limit 9r/h name=n store=main; }
                location /away { rate_limit 9r/h name=n store=away; } }',
    );
    $redis->kill;
    for (['/away', $many], ['/x', $few]) {
        my ($uri, $count) = @$_;
        my @responses = $nginx->parallel(connections => 4, requests => [map { ["$uri?k=$_"] } 1 .. $count]);
        is_deeply statuses(@responses), {200 => $count}, "$zone: $count requests to $uri";
    }
    $redis->restart;
    wait_until { $redis->cmd('DBSIZE') == $few } what => 'the charges';
    my %used;
    $used{$_ // ''}++ for $redis->pipeline(map { ['HGET', "rl:n/3600:$_", 'used'] } 1 .. $few);
    is_deeply \%used, {1 => $few}, 'each is charged once';
    $nginx->stop;
    my $left = $nginx->count_log(qr/nginx ends while $many charges of $many windows wait for Redis/);
    is $left, 1, 'the others still wait, all of them';
}

done;

# The last answer of the primary stands for a check for the time of "fresh", which is a second for a limit of an hour. Once
# the primary says no more, each request asks a replica.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary, $shards->replica);
my $nginx = RateLimit::Nginx->start(
    clock => 1,
    http => $shards->block('main') . redis_block('long', [$primary, $replica], 'check_timeout 9s; connect_timeout 9s; fresh 1h; prefix long:;')
        . redis_block('off', [$primary, $replica], always_checks() . ' prefix off:;'),
    server => 'rate_limit_key $http_x_key; location / { rate_limit 5000r/h store=main; }
        location /minute { rate_limit 5000r/m store=main; }
        location /long { rate_limit 5000r/d store=long; } location /off { rate_limit 5000r/h store=off; }',
);
sub asks ($uri, $count) {
    my $before = $replica->calls('hmget');
    $nginx->get($uri, 'X-Key' => 'k') for 1 .. $count;
    return $replica->calls('hmget') - $before;
}

# Opens a window, and waits until the charge has its answer.
my %prefix = ('/x' => 'rl:default/3600', '/minute' => 'rl:default/60', '/long' => 'long:default/86400', '/off' => 'off:default/3600');
sub open_window ($uri) {
    asks($uri, 1);
    wait_until { $primary->cmd('EXISTS', "$prefix{$uri}:k") } what => "the window of $uri";
    return wait_until { asks($uri, 1) == 0 } what => "the answer to the charge of $uri" if $uri ne '/off';
}
open_window($_) for sort keys %prefix;
is asks('/off', 5), 5, '"fresh off": each request asks';
is asks('/long', 5), 0, 'a charge has been answered: none asks';
$primary->freeze;
$nginx->travel('+2s');
is asks('/x', 5), 5, 'after a second in which the primary has said nothing each asks';
is asks('/minute', 5), 5, 'so does each under a limit of a minute, after 60 ms';
is asks('/long', 5), 0, 'a longer time may be set';
$primary->thaw;
wait_until { asks('/x', 1) == 0 } what => 'the primary to answer again';

done;

# Reset, the `t` of RateLimit and Retry-After of a bucket all say when more is available: the next token; where a request is rejected, when its cost fits. They
# are rounded up to whole seconds, and the same in each store. (Where scripts may not ask for the time, a bucket in Redis goes by nginx's clock.)

use RateLimit::Test;

my $redis = RateLimit::Redis->start(timeless => 1);
my $nginx = RateLimit::Nginx->start(
    clock  => 1,
    http   => timeless_block('main', $redis) . 'rate_limit_key all; rate_limit_cost $arg_c; rate_limit_headers github ietf;',
    server => 'location /local { rate_limit 1r/m burst=4; }
        location /redis { rate_limit 1r/m burst=4 store=main; }
        location /few { rate_limit 1r/m burst=4 store=main mode=lease name=few; }
        location /many { rate_limit 100r/s burst=2000 store=main mode=lease name=many; }',
);
my $begin = 1_800_000_000;

# What the headers say of a request of that cost, so many seconds after the begin: status, remaining, and the three times, as seconds from then.
my sub answer ($uri, $after, $cost) {
    $nginx->stand_at($begin + $after);
    my $response = $nginx->get("$uri?c=$cost");
    my $limits   = limits($response);
    my ($left, $t) = $response->header('RateLimit') =~ /^"\w+";r=(\d+);t=(\d+)$/ or return $response->header('RateLimit');
    is $left, $limits->{remaining}, '... as "r" says, too';
    return join ' ', $response->status, $left, ceil($limits->{reset} - $begin - $after), $t, $limits->{retry_after} // '-';
}

for my $uri (qw(/local /redis /few)) {
    is answer($uri, 0, 0),    '200 4 0 0 -',       "$uri: all is available";
    is answer($uri, 0, 1),    '200 3 60 60 -',     "$uri: one is taken, and back in a minute";
    is answer($uri, 20, 1),   '200 2 40 40 -',     "$uri: of the first one a third is back";
    is answer($uri, 20, 2),   '200 0 40 40 -',     "$uri: the last two";
    is answer($uri, 20, 1),   '429 0 40 40 40',    "$uri: the next one is there in 40 seconds";
    is answer($uri, 20, 3),   '429 0 160 160 160', "$uri: a cost of three two minutes later";
    is answer($uri, 20, 5),   '429 0 40 40 -',     "$uri: a cost above the burst never";
    is answer($uri, 20.3, 1), '429 0 40 40 40',    "$uri: times are rounded up";
    is answer($uri, 20.3, 3), '429 0 160 160 160', "$uri: of a larger cost too";
    is answer($uri, 59.9, 1), '429 0 1 1 1',       "$uri: a tenth of a second before";
    is answer($uri, 60, 1),   '200 0 60 60 -',     "$uri: at that time it passes";
    is answer($uri, 180, 3),  '429 0 60 60 60',    "$uri: what has come back meanwhile counts";
}

# Tokens that are fetched in advance are less than what is refilled in a second.
like answer('/many', 0, 1), qr/^200 \d+ 1 1 -$/, 'a lease: there is more in less than a second';
like answer('/many', 0, 1600), qr/^200 2\d\d 1 1 -$/, '... also after a greater cost';
is answer('/many', 0, 500), '429 0 3 3 3', '... and 500 are there in three seconds';

done;

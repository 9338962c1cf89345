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

# Returns what the headers say of a request of that cost, so many seconds after the begin: status, remaining, and the three times in seconds
# from then.
my sub answer ($uri, $after, $cost) {
    $nginx->stand_at($begin + $after);
    my $response = $nginx->get("$uri?c=$cost");
    my $limits   = limits($response);
    my ($left, $t) = $response->header('RateLimit') =~ /^"\w+";r=(\d+);t=(\d+)$/ or return $response->header('RateLimit');
    is $left, $limits->{remaining}, '... as "r" says, too';
    return join ' ', $response->status, $left, ceil($limits->{reset} - $begin - $after), $t, $limits->{retry_after} // '-';
}

# Seconds after the begin, cost, answer.
my @asked = (
    [0,    0, '200 4 0 0 -',       'all is available'],
    [0,    1, '200 3 60 60 -',     'one is taken, and back in a minute'],
    [20,   1, '200 2 40 40 -',     'of the first one a third is back'],
    [20,   2, '200 0 40 40 -',     'the last two'],
    [20,   1, '429 0 40 40 40',    'the next one is there in 40 seconds'],
    [20,   3, '429 0 160 160 160', 'a cost of three two minutes later'],
    [20,   5, '429 0 40 40 -',     'a cost above the burst never'],
    [20.3, 1, '429 0 40 40 40',    'times are rounded up'],
    [20.3, 3, '429 0 160 160 160', 'of a larger cost too'],
    [59.9, 1, '429 0 1 1 1',       'a tenth of a second before'],
    [60,   1, '200 0 60 60 -',     'at that time it passes'],
    [180,  3, '429 0 60 60 60',    'what has come back meanwhile counts'],
);
for my $uri (qw(/local /redis /few)) {
    is answer($uri, @$_[0, 1]), $_->[2], "$uri: $_->[3]" for @asked;
}

# Tokens that are fetched in advance are less than what is refilled in a second.
like answer('/many', 0, 1), qr/^200 \d+ 1 1 -$/, 'a lease: there is more in less than a second';
like answer('/many', 0, 1600), qr/^200 2\d\d 1 1 -$/, '... also after a greater cost';
is answer('/many', 0, 500), '429 0 3 3 3', '... and 500 are there in three seconds';

done;

# The variables of a bucket: $rate_limit_limit is the burst, $rate_limit_reset when more is available or, on a rejection, when the cost fits. $rate_limit_all
# tells buckets, windows and running requests of one location together, in the order of their lines; the others describe the one that is shown.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(timeless => 1);
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    clock  => 1, up => $backend,
    http   => timeless_block('main', $redis) . 'rate_limit_key $arg_k; rate_limit_cost $arg_c;
        add_header X-One "$rate_limit_resource $rate_limit_limit $rate_limit_used $rate_limit_remaining $rate_limit_reset $rate_limit_source" always;
        add_header X-All $rate_limit_all always;',
    server => 'location /local { rate_limit 1r/m burst=4 name=here; }
        location /redis { rate_limit 1r/m burst=4 name=there store=main; }
        location /lease { rate_limit 100r/s burst=2000 name=lease store=main mode=lease; }
        location /all { proxy_pass http://%%UP%%; rate_limit_concurrency 2 name=slots; rate_limit_concurrency 9 name=fleet key=all store=main;
            rate_limit 1r/m burst=4 name=here; rate_limit 9r/h name=window; rate_limit 6r/h name=clock window=clock store=main mode=charge_refund;
            rate_limit 1r/m burst=3 name=there store=main; rate_limit 100r/s burst=2000 name=lease store=main mode=lease; }',
);
my $begin = 1_800_000_000;
$nginx->stand_at($begin);

# The variables, with the reset in seconds from the begin.
my sub one ($response) { return $response->header('X-One') =~ s/\b(18\d{8})\b/'+' . ($1 - $begin)/er }
my sub ask ($uri, $cost) { return one($nginx->get("$uri?k=a&c=$cost")) }

for (['/local', 'here', 'memory'], ['/redis', 'there', 'primary']) {
    my ($uri, $name, $source) = @$_;
    is ask($uri, 1), "$name 4 1 3 +60 $source", "$uri: one of four, and when it is back";
    is ask($uri, 3), "$name 4 4 0 +60 $source", "$uri: all of them";
    is ask($uri, 1), "$name 4 4 0 +60 memory",  "$uri: a rejection, and when there is one again";
    is ask($uri, 3), "$name 4 4 0 +180 memory", "$uri: three of them are later";
    is ask($uri, 5), "$name 4 4 0 +60 none",    "$uri: five are never there";
}
is ask('/lease', 1), 'lease 2000 101 1899 +1 primary', 'a lease: what is held back is used';
is ask('/lease', 1), 'lease 2000 102 1898 +1 tokens',  '... and tokens at hand are not';
like ask('/lease', 1700), qr/^lease 2000 180\d 19\d \+1 primary$/, '... nor where the primary is asked for more';
like ask('/lease', 800), qr/^lease 2000 2000 0 \+7 memory$/, '... a rejection, and when as many are there';

my sub all ($response) { return join ' ', $response->status, split /,/, $response->header('X-All') }
my $first = $nginx->get('/all?k=b&c=1');
is all($first), '200 here=PASSED:1/4 window=PASSED:1/9 clock=PASSED:1/6 there=PASSED:1/3 lease=PASSED:101/2000 slots=PASSED:1/2 fleet=PASSED:1/9',
    'all limits of a location: buckets, windows, running requests';
is one($first), 'there 3 1 2 +60 primary', '... the one with the least left is described';
$nginx->get('/all?k=b&c=1') for 1 .. 2;
my $rejected = $nginx->get('/all?k=b&c=1');
like all($rejected), qr{^429 here=-:3/4 window=-:3/9 clock=-:3/6 there=REJECTED:3/3 lease=\S+:10\d/2000 slots=-:0/2 fleet=\S+:0/9$}, 'a bucket rejects';
is one($rejected), 'there 3 3 0 +60 memory', '... and is described';

my @open    = map { $nginx->reach($backend, '/all/slow?k=c&c=1') } 1, 2;
my $too_many = $nginx->get('/all?k=c&c=1');
like all($too_many), qr{^429 here=-:2/4 window=-:0/9 clock=-:2/6 there=-:2/3 lease=\S+:10\d/2000 slots=REJECTED:2/2 fleet=-:2/9$}, 'too many run';
is one($too_many), 'slots 2 2 0 +1 memory', '... the running ones are described';
$backend->release('gate');
$_->response for @open;

done;

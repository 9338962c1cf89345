# Commands issued in one turn of the event loop leave in one write: each arrives as one segment.

use RateLimit::Test;
use Socket qw(IPPROTO_TCP);

use constant {TCP_INFO => 11, DATA_SEGMENTS_IN => 152};

# On loopback every write of a socket without delay is a segment of its own, and the receiver counts them.
package CountingRedis {
    use parent -norequire, 'RateLimit::FakeRedis';
    sub received ($self, $conn) {
        my $info = getsockopt $conn->{socket}, main::IPPROTO_TCP, main::TCP_INFO;
        if (length $info >= main::DATA_SEGMENTS_IN + 4) {
            $self->note(segments => $conn->number, unpack 'L', substr $info, main::DATA_SEGMENTS_IN, 4);
        }
        return $self->SUPER::received($conn);
    }
}

my $fake = CountingRedis->start(handler => sub ($words, $conn) {
    return hmget(1, (time + 1800) . '000') if $words->[0] eq 'hmget';
    return integer(2)                      if $words->[0] eq 'hincrby';
    return array(map { integer($_) } 2, (time + 1800) . '000') if $words->[0] eq 'evalsha' && @$words == 8;    # charge.lua
    return array(map { integer($_) } @$words[5, 5], (time + 1800) . '000') if $words->[0] eq 'evalsha';    # reserve.lua
    return fallback($words);
});
my $limits = join '', map { "rate_limit 100r/h name=limit-$_ store=main;\n" } 1 .. 12;
my $leases = join '', map { "rate_limit 1000r/h name=lease-$_ mode=lease store=main;\n" } 1 .. 12;
my $nginx  = RateLimit::Nginx->start(
    http   => redis_block('main', $fake, 'check_timeout 5s;'),
    server => "rate_limit_key \$http_x_key;\nlocation / {\n$limits}\n"
        . "location /leases {\n$leases}\n"
        . "location /one { rate_limit 1000r/h store=main; }\n}\n"
        . "server {\nlisten 127.0.0.1:%%PORT_1%% http2;\n"
        . 'location / { rate_limit 100r/h key=$request_id store=main; }',
);

sub segments () {
    my %last = map { $_->[1] => $_->[2] } $fake->commands('segments');
    my $sum  = 0;
    $sum += $_ for values %last;
    return $sum;
}

is $nginx->get('/one', 'X-Key' => 'warm')->status, 200, 'connected';
let_connections_age();
is $nginx->get('/one', 'X-Key' => 'warm')->status, 200, 'not just now';
wait_until { $fake->commands('hincrby') == 1 } what => 'the charge';
plan skip_all => 'this system does not count segments' if !segments();

my $before = segments();
is $nginx->get('/x', 'X-Key' => 'many')->status, 200, 'a request with twelve limits';
wait_until { $fake->commands('hincrby') == 13 } what => 'the charges';
is scalar(grep { $_->[1] =~ /limit-/ } $fake->commands('hmget')), 12, 'has twelve checks';
is segments() - $before, 2, 'in one write, and its twelve charges in another';

$before = segments();
is $nginx->get('/leases', 'X-Key' => 'many')->status, 200, 'a request with twelve leases';
is scalar(grep { $_->[3] =~ /lease-/ } $fake->commands('evalsha')), 12, 'fetches twelve batches';
is segments() - $before, 1, 'in one write';

# The fewest of some bursts: where answers come one by one, so do the turns.
SKIP: {
    my ($fewest, $charges) = (800, 13);
    for my $burst (1 .. 10) {
        my $before = segments();
        my $load   = eval { h2load($nginx->port(1), '/x', requests => 400, clients => 1, streams => 100) };
        skip 'no h2load', 1 if !$load;
        $charges += $load->{2};
        wait_until { $fake->commands('hincrby') == $charges } what => 'the charges';
        my $writes = segments() - $before;
        $fewest = $writes if $writes < $fewest;
        last if $fewest < 200;
    }
    cmp_ok $fewest, '<', 200, "800 commands of 100 streams at a time leave in few writes ($fewest)";
}

done;

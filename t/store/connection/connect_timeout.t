# A node that takes no connection is given up after connect_timeout; no check waits for it.

use RateLimit::Test;

my $primary = RateLimit::Redis->start;

# A full queue of connections that nobody accepts: the next one gets no answer.
my $mute = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => free_port(), Listen => 1, ReuseAddr => 1)
    or die $@;
my @queue = map { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $mute->sockport, Blocking => 0) // () } 1 .. 8;
my $nginx = RateLimit::Nginx->with_limit('100r/h',
    redis_block('main', [$primary, '127.0.0.1:' . $mute->sockport], 'check_timeout 3s; connect_timeout 1500ms;'),
    key => 'k', more => 'add_header X-Time $rate_limit_store_time; add_header X-Outcome $rate_limit_status;');
my $client = $nginx->http;
my $first  = $client->get('/x');
is $first->header('X-Outcome'), 'PASSED', 'the primary answers';
cmp_ok $first->header('X-Time'), '<', 0.9, 'long before connect_timeout';
$nginx->wait_log(qr/replica .* is down: connecting took longer than connect_timeout/);
is $client->get('/x')->header('X-Outcome'), 'PASSED', 'from then on it costs nothing';
ok eval { $nginx->stop }, 'a try to connect does not hold a leaving worker';

done;

# charge_refund: a reservation that never left, because its primary took no connection in check_timeout, is no charge: the
# request that passed without it is charged once the primary is there.

use RateLimit::Test;

# A full queue of connections that nobody accepts: the next one gets no answer.
my $mute = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => free_port(), Listen => 1, ReuseAddr => 1) or die $@;
my $port = $mute->sockport;
my @queue = map { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Blocking => 0) // () } 1 .. 8;
my $nginx = RateLimit::Nginx->with_limit('9r/h mode=charge_refund',
    redis_block('main', "127.0.0.1:$port", 'check_timeout 100ms; connect_timeout 1s;'),
    key => 'k', more => 'add_header X-Outcome $rate_limit_status;');
is $nginx->get('/x')->header('X-Outcome'), 'ERROR_ALLOWED', "$_ passes" for 1, 2;
undef $_ for @queue;
close $mute;
my $redis = RateLimit::Redis->start(port => $port);
wait_until { $redis->used('k') == 2 } what => 'the charges';
$nginx->stop;
is $redis->used('k'), 2, 'they are charged';

done;

# Replies of more bytes than one read of a socket takes, hundreds at once or one alone, reach the requests that asked.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $key) = @$words;
    return $command eq 'hincrby' ? integer(9) : fallback($words) if $command ne 'hmget';
    my ($kind, $number) = $key =~ /:(\w+)-(\d+)$/;
    return bulk('x' x $number) if $kind eq 'long';
    return $conn->hold('gate', hmget($number, $reset));
});
my $nginx = RateLimit::Nginx->with_limit('100000r/h', redis_block('main', $fake, timeouts('60s') . ' fresh off;'),
    more => 'add_header X-Outcome $rate_limit_status;');

is outcome($nginx->get('/x', 'X-Key' => 'long-100000')), '200 ERROR_ALLOWED', 'a long reply is no window';
my @clients = map { $nginx->begin('/x', 'X-Key' => 'many-' . (1000 + $_)) } 0 .. 599;
wait_until { grep({ $_->[1] =~ /:many-/ } $fake->commands('hmget')) == @clients } what => 'all checks';
$fake->release('gate');
my @wrong = grep { limits($clients[$_]->response)->{used} != 1001 + $_ } 0 .. $#clients;
is_deeply \@wrong, [], 'hundreds of replies at once: each to its own request';
is $fake->connections, 1, 'all on one connection';

done;

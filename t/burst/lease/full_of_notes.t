# The zone is full of notes of tokens, and the wall clock is set forward, beyond the end of all: no note gives way to one of another client before its
# tokens have gone back.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    clock => 1,
    http  => 'rate_limit_zone 1m; ' . redis_block('main', $redis, timeouts('9s'))
        . 'keepalive_requests 1000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;',
    server => 'location / { rate_limit 1000r/s burst=20000; rate_limit_lease 5000; } location /limits/ { rate_limit off; rate_limit_console view; }',
);
my sub told () { return decode_json($nginx->get('/limits/json')->body) }

# So many clients that are not known yet, many at a time, as tokens live for a second; how many of them are rejected.
my $clients = 0;
my sub come ($count) {
    my @open = map { $nginx->http->send(join '', map { RateLimit::HTTP::text_of('GET', '/x?k=' . ++$clients) } 1 .. 100) } 1 .. $count / 100;
    my @answers = map { my $http = $_; map { $http->response } 1 .. 100 } @open;
    return scalar grep { $_->status != 200 } @answers;
}
is come(2000), 0, 'more clients than notes have room';
cmp_ok told()->{zone}{full}, '>', 0, 'some find no room';
$nginx->travel('+5');
is come(2000), 0, 'others come';
my $leases;
wait_until {
    $leases = told()->{stores}[0]{shards}[0]{leases};
    $leases->{spent} + $leases->{returned} + $leases->{lost} == $leases->{fetched}
} what => 'all tokens to be accounted for';
is $leases->{spent}, 4000, 'each client has spent one';
cmp_ok $leases->{returned}, '>', 0, 'some were worth to go back';

done;

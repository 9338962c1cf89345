# Requests on one connection are counted one by one: kept alive and pipelined.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->with_limit('10r/h', redis_block('main', $redis));

my $http = $nginx->http;
is limits($http->get('/x', 'X-Key' => 'kept'))->{used}, $_, "kept alive: request $_" for 1 .. 10;
is $http->get('/x', 'X-Key' => 'kept')->status, 429, 'the eleventh is rejected';
is $http->get('/x', 'X-Key' => 'other')->status, 200, 'and the connection goes on';

my @got = $http->pipeline(map { ['GET', '/x', ['X-Key' => 'piped']] } 1 .. 14);
is_deeply statuses(@got), {200 => 10, 429 => 4}, 'pipelined requests are counted each';
is_deeply [map { limits($_)->{used} } @got], [1 .. 10, (10) x 4], 'in order';
my @mixed = $http->pipeline(
    ['GET', '/x', ['X-Key' => 'p']], ['POST', '/x', ['X-Key' => 'p'], 'body'],
    ['HEAD', '/x', ['X-Key' => 'p']], ['GET', '/x'], ['GET', '/none', ['X-Key' => 'p']]);
is_deeply [map { $_->status } @mixed], [200, 405, 200, 200, 404], 'of every kind';
is_deeply [map { limits($_)->{used} } @mixed], [1, 2, 3, undef, 4], 'each by its own key';
$nginx->stop;
is_deeply [map { $redis->used($_) } qw(kept piped p other)], [10, 10, 4, 1], 'charges';

done;

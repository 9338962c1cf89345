# A token bucket in Redis while its primary is away, with rate_limit_on_error local: the memory of this machine admits what the bucket has,
# and what it admitted is stored when Redis is back, as is what came back meanwhile.

use RateLimit::Test;
use List::Util qw(max);
use POSIX ();

my $redis   = RateLimit::Redis->start(appendonly => 1);
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    workers => 2, up => $backend,
    http    => redis_block('main', $redis, 'check_timeout 2s; connect_timeout 2s;'),
    server  => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error local;
        add_header X-Outcome $rate_limit_status always;
        location / { rate_limit 1r/h burst=10 cost=$http_x_cost; }
        location /up { rate_limit 1r/h burst=10 cost=4; proxy_pass http://%%UP%%; }
        location /small { rate_limit 1r/s burst=1 name=shared; }
        location /large { rate_limit 1r/s burst=1000 name=shared cost=900; }',
);
my sub ask ($key, $cost, @more) { return $nginx->get('/x', 'X-Key' => $key, 'X-Cost' => $cost, @more) }
my sub used ($key) {
    return POSIX::ceil(max(0, ($redis->bucket("rl:default/3600b:$key"))[0] // 0) / 3600e9);
}

is outcome(ask('known', 4)), '200 PASSED', 'Redis is there';
my @open = map { $nginx->reach($backend, "/up/slow?status=$_", 'X-Key' => $_) } 200, 304;
is_deeply [map { used($_) } 'known', 200, 304], [4, 4, 4], 'and has it';
$redis->kill;

is_deeply [map { outcome(ask('known', $_)) } 7, 5, 2], ['429 REJECTED', '200 ERROR_LOCAL', '429 REJECTED'], 'it is away: what fits passes, from what is known';
my $last = ask('known', 1);
is_deeply [outcome($last), @{limits($last)}{qw(limit used remaining)}], ['200 ERROR_LOCAL', 10, 10, 0], 'up to the burst';
is outcome(ask('known', 1)), '429 REJECTED', 'not beyond';
my @new = $nginx->parallel(connections => 8, requests => 40, uri => '/x', headers => ['X-Key' => 'new']);
is_deeply outcomes(@new), {'200 ERROR_LOCAL' => 10, '429 REJECTED' => 30}, 'a new client, over both workers';
is outcome(ask('exempt', 3, 'If-None-Match' => '*')), '304 ERROR_LOCAL', 'what is exempt';
is outcome(ask('exempt', 10)), '200 ERROR_LOCAL', 'takes nothing';
is outcome($nginx->get($_, 'X-Key' => 'shared')), '200 ERROR_LOCAL', "$_, of two limits that share a bucket" for '/small', '/large';
my $made = monotonic();
wait_until { monotonic() >= $made + 3 } what => 'the smaller one to be full again';
$backend->release('gate');
is_deeply [map { $_->response->status } @open], [200, 304], 'those that began before end';

$redis->restart;
my %after = (known => 10, new => 10, exempt => 10, 200 => 4, 304 => 0);
wait_until { (($redis->bucket('rl:shared/1b:shared'))[0] // 0) > 800e9 } what => 'what the larger limit owes';
wait_until { !grep { used($_) != $after{$_} } keys %after } what => 'what was admitted, and what came back';
$nginx->wait_up_again;
is_deeply [map { outcome(ask($_, 1)) } qw(known new exempt)], [('429 REJECTED') x 3], 'it is stored, and still holds';
is outcome(ask(304, 10)), '200 PASSED', 'what came back can be taken';
$nginx->stop;
is_deeply {map { $_ => used($_) } keys %after}, {%after, 304 => 10}, 'each once';
is $nginx->count_log(qr/in doubt|were dropped|are lost/), 0, 'nothing is lost';

done;

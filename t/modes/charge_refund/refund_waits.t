# What is given back while the primary is away waits, summed with what is charged, and arrives when it is back; not in
# a later window. A primary that refuses writes leaves reservations to rate_limit_on_error, and answers reads.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(appendonly => 1);
my $backend = RateLimit::Backend->start;
my $stubborn = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return hmget(3, (time + 1800) . '000') if $words->[0] eq 'hmget';
    return fallback($words) if $words->[0] !~ /^(?:eval|hincrby)/;
    return error($conn->state('error') // 'OOM');
});
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis, 'check_timeout 2s; connect_timeout 2s;') . redis_block('stubborn', $stubborn) . '
        rate_limit_mode charge_refund; rate_limit_key $http_x_key; rate_limit_store main;
        map $upstream_http_x_cost $cost { "" 4; default $upstream_http_x_cost; }
        add_header X-Outcome $rate_limit_status always; log_format end "$status $http_x_key";',
    up => $backend, server => 'access_log %%DIR%%/ends end;
        location / { rate_limit 50r/h; }
        location /up { rate_limit 50r/h cost=$cost; proxy_pass http://%%UP%%; }
        location /allow { rate_limit 9r/h store=stubborn name=r;
            rate_limit 9r/h store=stubborn name=c mode=check_charge; }
        location /deny { rate_limit 9r/h store=stubborn name=r; rate_limit_on_error deny; }
        location /reads { rate_limit 9r/h store=stubborn name=c mode=check_charge; rate_limit_on_error deny; }',
);
my %request = (down => 'cost=1', up => 'cost=9', map { $_ => 'status=304' } qw(exempt mixed closed));
my @keys    = sort keys %request;
my $ends    = (time + 4) * 1000;
$redis->cmd('HSET', 'rl:default/3600:closed', used => 2, reset => $ends);
my @open = map { $nginx->reach($backend, "/up/slow?$request{$_}", 'X-Key' => $_) } @keys;
is_deeply [map { $redis->used($_) } @keys], [6, 4, 4, 4, 4], 'they are reserved';
my $reset = $redis->stored('mixed')->{reset};
$redis->kill;
is outcome($nginx->get('/x', 'X-Key' => 'mixed')), '200 ERROR_ALLOWED', 'another one while it is away' for 1 .. 7;
wait_until { time * 1000 > $ends } what => 'the end of a window';
$backend->release('gate');
is_deeply statuses(map { $_->response } @open), {200 => 2, 304 => 3}, 'they end';
wait_until { 3 == grep { /^304/ } $nginx->lines('ends') } what => 'the log';
is outcome($nginx->get('/x', 'X-Key' => 'closed')), '200 ERROR_ALLOWED', 'the next window is charged';
$redis->restart;
my %after = (down => 1, exempt => 0, mixed => 7, closed => 1, up => 9);
wait_until { !grep { $redis->used($_) != $after{$_} } @keys } what => 'what waited';
is_deeply {map { $_ => $redis->used($_) } @keys}, \%after, 'it arrives';
is $redis->stored('mixed')->{reset}, $reset, 'in its window';

for ("OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.") {
    $stubborn->set(error => $_);
    my ($word) = /^(\w+)/;
    is outcome($nginx->get('/deny', 'X-Key' => $word)), '503 ERROR_DENIED', "$word: denied";
    is outcome($nginx->get('/allow', 'X-Key' => $word)), '200 ERROR_ALLOWED', 'or allowed';
    is outcome($nginx->get('/reads', 'X-Key' => $word)), '200 PASSED', 'a limit that only reads goes on';
}
$nginx->stop;
is_deeply {map { $_ => $redis->used($_) } @keys}, \%after, 'each once';
is $nginx->count_log(qr/does not serve|dropped/), 0, 'nobody is taken for down, and nothing dropped';

done;

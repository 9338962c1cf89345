# A reload moves a shard to another primary, and a worker of before stays: charges that wait reach the new one, also
# those of the old worker, and the old one gets none of them when it comes back.

use RateLimit::Test;

my ($old, $new) = map { RateLimit::Redis->start } 1 .. 2;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $conn->hold($request->{uri}, [200, [], 'late']);
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $old),
    server => 'rate_limit_key $http_x_key; rate_limit 100r/h store=main; location / { }
        location /slow { proxy_pass http://' . $backend->address . '; }',
);

my %slow = map { $_ => $nginx->reach($backend, "/slow/$_", 'X-Key' => $_) } qw(first second);
$new->stop;
$nginx->reload(http => redis_block('main', $new));
is_deeply statuses(map { $nginx->get('/x', 'X-Key' => 'a') } 1 .. 5), {200 => 5}, 'the new primary is away';

$old->kill;
$backend->release('/slow/first');
is $slow{first}->response->status, 200, 'the old worker answers while the old primary is away, too';
$nginx->wait_log(qr/\Q@{[$old->address]}\E of shard "a" of "main" is down/);
$old->restart;
$nginx->wait_log(qr/\Q@{[$old->address]}\E of shard "a" of "main" is up again/);
$backend->release('/slow/second');
is $slow{second}->response->status, 200, 'and when it is back';
wait_until { !$nginx->old_workers } what => 'the old worker to leave';
is_deeply [$old->keys], ['rl:default/3600:second'], 'the old primary got only what came after that';
is $old->used('second'), 1, 'once';

$new->restart;
wait_until { $new->used('a') == 5 && $new->used('first') == 1 } what => 'what waited at the new one';
$nginx->stop;
is_deeply $new->used_by_key, {'rl:default/3600:a' => 5, 'rl:default/3600:first' => 1},
    'and nothing else';

done;

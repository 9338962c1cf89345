# Local windows stay over reloads with the same rate_limit_zone, and old and new workers count together, also what is in
# flight in an old one. With another size they start anew, and the log says so.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('gate', [200, [], 'slow']) });
my $server  = 'keepalive_requests 100000; rate_limit_key $http_x_key;
    location / { rate_limit 500r/h; }
    location /before/ { alias %%DIR%%/html/; rate_limit 500r/h name=before mode=charge_refund; }
    location /count/ { alias %%DIR%%/html/; rate_limit 1000000r/h name=count; }
    location /slow { rate_limit 500r/h; proxy_pass http://%%UP%%; }
    location /before/slow { rate_limit 500r/h name=before mode=charge_refund; proxy_pass http://%%UP%%; }';
my $nginx = RateLimit::Nginx->start(workers => 2, up => $backend, http => 'rate_limit_zone 1m;', server => $server);

sub ask ($uri, $key = 'a') { return $nginx->get($uri, 'X-Key' => $key) }

for my $uri ('/x', '/before/x') {
    $nginx->parallel(connections => 40, requests => 100, uri => $uri, headers => ['X-Key' => 'a']);
    is limits(ask($uri))->{used}, 101, "$uri: counts";
}
my $reset = limits(ask('/x'))->{reset};
my @slow  = map { $nginx->reach($backend, $_, 'X-Key' => 'a') } ('/slow') x 5, ('/before/slow') x 5;
my @kept = map { $nginx->http } 1 .. 10;
$_->get('/x', 'X-Key' => 'a') for @kept;

$nginx->reload(server => $server . ' location /new {}');
ok scalar($nginx->old_workers), 'old workers still have requests';
is limits(ask('/x'))->{used}, 118, 'new workers know what is charged and what is in flight';
is limits(ask('/before/x'))->{used}, 107, 'in either mode';
is limits(ask('/x'))->{reset}, $reset, 'it is the same window';
$backend->release('gate');
is_deeply statuses(map { $_->response } @slow), {200 => 10}, 'old workers end their requests';
wait_until { !$nginx->old_workers } what => 'old workers to leave';
is limits(ask('/x'))->{used}, 120, 'which are charged once';
is limits(ask('/before/x'))->{used}, 108, 'in either mode';
is $nginx->count_log(qr/starts anew/), 0, 'nothing to say';

my $seen = $nginx->folder . '/seen';
my $load = RateLimit::Process->start(run => sub {
    my $count = statuses($nginx->parallel(
        connections => 40, requests => 6000, keepalive => 0, uri => '/count/x', headers => ['X-Key' => 'a']));
    write_text($seen, join ' ', map { "$_: $count->{$_}" } keys %$count);
});
my $reloads = 0;
while ($load->alive) {
    $nginx->reload;
    $reloads++;
}
is read_text($seen), '200: 6000', 'requests under load pass';
cmp_ok $reloads, '>=', 2, "while nginx is reloaded, $reloads times";
wait_until { !$nginx->old_workers } what => 'old workers to leave';
is limits(ask('/count/x'))->{used}, 6001, 'and each counts once';

$nginx->reload(http => 'rate_limit_zone 2m;', wait_old => 1);
is limits(ask('/x'))->{used}, 1, 'another size: windows start anew';
is $nginx->count_log(qr/\[warn\] .*"rate_limit_zone" will be of 2097152 bytes, not 1048576: it starts anew/), 1,
    'which is logged once';
$nginx->reload(wait_old => 1);
is limits(ask('/x'))->{used}, 2, 'until then they stay';
$nginx->reload(http => '', wait_old => 1);
is limits(ask('/x'))->{used}, 1, 'the default is another size, too';
is $nginx->count_log(qr/"rate_limit_zone" will be of 10485760 bytes, not 2097152: it starts anew/), 1, 'as logged';
$nginx->reload(http => 'rate_limit_zone 10m;', wait_old => 1);
is limits(ask('/x'))->{used}, 2, 'that of 10m';

done;

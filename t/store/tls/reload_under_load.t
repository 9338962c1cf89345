# While requests go on an authority gives way to another, by reloads that trust both, then the new one: no request fails. What a
# worker began before a reload it ends with what it had, also when it has to connect anew.
# Row 5 of the fault matrix.

use RateLimit::Test;

my ($old, $new) = map { RateLimit::Certificates->authority($_) } qw(old new);
my %server = map { $_->{name} => $_->issue("server-$_->{name}", 'IP:127.0.0.1') } $old, $new;
my %client = map { $_->{name} => $_->issue("client-$_->{name}", 'DNS:nginx.test') } $old, $new;
my $both   = test_folder() . '/both.pem';
write_text($both, join '', map { read_text($_->file) } $old, $new);

my $redis   = RateLimit::Redis->start(tls => {%{$server{old}}, authority => $both});
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { return $conn->hold('gate', [200, [], 'ok']) });

# Returns a configuration that trusts one authority and shows one client certificate.
my sub setup ($trusted, $shown) {
    return (
        http => RateLimit::Traffic::log_format() . redis_block('main', $redis,
            timeouts('9s') . "fresh off; ssl on; ssl_trusted_certificate $trusted;
            ssl_certificate $client{$shown}{certificate}; ssl_certificate_key $client{$shown}{key};"),
        server => RateLimit::Traffic::access_log() . 'rate_limit_key $http_x_key; rate_limit 1000000r/h store=main;
            location / { } location /slow { proxy_pass http://%%UP%%; }',
    );
}
my $nginx   = RateLimit::Nginx->start(workers => 2, up => $backend, setup($old->file, 'old'));
my $traffic = RateLimit::Traffic->start($nginx, keepalive => 0, uris => ['/x']);
my sub served ($what) { return $traffic->more(100)->is_served($what, timeout => 9, passes => 1) }

served('the old authority');
my @slow = map { $nginx->reach($backend, '/slow', 'X-Key' => 'slow') } 1 .. 2;
is scalar(() = $redis->keys), 10, 'two requests are under way, not charged';

$nginx->reload(setup($both, 'new'));
served('both, and a new key');
ok scalar($nginx->old_workers), 'old workers wait for their requests';
$redis->drop_clients;
served('with new connections');
$backend->release('gate');
is_deeply statuses(map { $_->response } @slow), {200 => 2}, 'what was under way ends';
wait_until { $redis->used('slow') == 2 } what => 'its charges';
wait_until { !$nginx->old_workers } what => 'old workers to leave';

@slow = map { $nginx->reach($backend, '/slow', 'X-Key' => 'later') } 1 .. 2;
$redis->cmd('CONFIG', 'SET', 'tls-cert-file', $server{new}{certificate}, 'tls-key-file', $server{new}{key});
$nginx->reload(setup($new->file, 'new'));
served('the new authority');
$redis->cmd('CONFIG', 'SET', 'tls-ca-cert-file', $new->file);
$redis->drop_clients;
served('and nobody knows the old one');
$backend->release('gate');
is_deeply statuses(map { $_->response } @slow), {200 => 2}, 'what was under way ends';
wait_until { $redis->used('later') == 2 } what => 'its charges';
$traffic->stop;
is $traffic->unanswered, 0, 'every request got a response';
$nginx->stop;
my $admitted = @{$traffic->since(0)} - 4;
my $stored   = sum0($redis->used_of('default/3600', RateLimit::Traffic->keys));
my $doubt    = sum0 $nginx->error_log =~ /rate limit: (\d+) charges for \S+ \S+ of "main" were sent and not answered/g;
cmp_ok $stored, '<=', $admitted, "of $admitted charges $stored are stored";
cmp_ok $stored, '>=', $admitted - $doubt, "the others are in doubt, as connections were cut: $doubt";
is $nginx->count_log(qr/rate limit: .*(?:is down|does not serve|dropped|lost)/), 0, 'nobody was away';

done;

# Workers that a reload left with requests do not tell of hot keys: they know nothing of limits that came with the reload. Here are eight of them,
# of which some would come before the new one.

use RateLimit::Test;
use RateLimit::HotKeys;

my $shards = RateLimit::Shards->start(1);
my sub server ($name) {
    return "location / { rate_limit_key \$arg_k; rate_limit 1000000r/h name=$name store=main mode=charge_refund; }";
}
my $nginx = RateLimit::Nginx->start(
    workers => 8, reuseport => 1, clock => 1,
    http    => $shards->block('main') . 'keepalive_requests 1000000; client_header_timeout 1h; add_header X-Id $rate_limit_id;',
    server  => server('before'),
);
my $hot = RateLimit::HotKeys->new($nginx);

# Requests of which the end is missing.
my @unfinished = map { my $http = RateLimit::HTTP->new(port => $nginx->port); $http->send("GET / HTTP/1.1\r\n"); $http } 1 .. 200;
$nginx->reload(workers => 1, server => server('api'));
# A connection to a socket of an old worker that closes it just then would be reset.
my $listens = sprintf ':%04X 00000000:0000 0A ', $nginx->port;
wait_until { (() = read_text('/proc/net/tcp') =~ /$listens/g) == 1 } what => 'old workers to listen no more';
my $id = $hot->id_of('/x?k=hot');
for my $minutes (1 .. 3) {
    $hot->flood(12_000, '/x?k=hot' => 1)->next_minute->wait_lines($minutes);
}
is_deeply [map { [@$_{qw(limit id)}] } $hot->lines], [(['api', $id]) x 3], 'each minute is told by a worker that stays';
cmp_ok scalar($nginx->titled('worker process is shutting down')), '>', 1, '... while others leave';
undef @unfinished;
$nginx->stop;

done;

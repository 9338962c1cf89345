# All workers together decide which key is hot: one that is so for a single worker is not named, and the line has the reads and charges of all.

use RateLimit::Test;
use RateLimit::HotKeys;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    workers => 4, reuseport => 1, clock => 1,
    http    => $shards->block('main', always_checks()) . 'keepalive_requests 1000000; add_header X-Id $rate_limit_id; rate_limit_store main;',
    server  => 'location /limits/ { rate_limit_console view; } location / { rate_limit_key $arg_k; rate_limit 1000000r/h name=api; }
        location /own { rate_limit_key $arg_k$pid; rate_limit 1000000r/h name=own; }',
);
my $hot = RateLimit::HotKeys->new($nginx);
my $id  = $hot->id_of('/x?k=hot');

# Each worker has a key of its own with 30% of what it sends, which is some 8% of all.
$hot->flood(40_000, '/x?k=hot' => 40, '/own?k=of' => 30, '/x?k=*' => 30);
my $stored = qr/_writes_total\{store="main",shard="a",kind="charge",result="stored"\} 40001$/m;
wait_until { $nginx->get('/limits/metrics')->body =~ $stored } what => 'all charges';
my $sent = $hot->commands('a');
$hot->next_minute->wait_lines(1);
$hot->flood(12_000, '/x?k=second' => 1)->next_minute->wait_lines(2);
my @lines = $hot->lines;
is_deeply [map { $_->{id} } @lines], [$id, $hot->id_of('/x?k=second')], 'not the keys of one worker each';
is $lines[0]{commands}, $sent, 'reads and charges of all workers';
cmp_ok $sent, '>=', 45_000, '... which are more than requests';

done;

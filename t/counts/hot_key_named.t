# Once a minute the log names a key that makes more than a fifth of the commands to a shard: its limit, its share, the shard, and the id that
# $rate_limit_id has. The key itself is not in the log.

use RateLimit::Test;
use RateLimit::HotKeys;

my $shards = RateLimit::Shards->start(2);
my $nginx  = RateLimit::Nginx->start(
    clock  => 1, http => $shards->block('main') . 'keepalive_requests 1000000; add_header X-Id $rate_limit_id;',
    server => 'location /limits/ { rate_limit_console view; } location / { rate_limit_key $arg_k; rate_limit 1000000r/h name=api store=main mode=charge_refund; }',
);
my $hot = RateLimit::HotKeys->new($nginx);
my $id  = $hot->id_of('/x?k=secret-of-a-client');
my $name = ($shards->names)[$shards->primary(1)->cmd('EXISTS', 'rl:api/3600:secret-of-a-client')];

$hot->flood(20_000, '/x?k=secret-of-a-client' => 3, '/x?k=*' => 7);
my $sent = $hot->commands($name);
$hot->next_minute->wait_lines(1);
my ($line) = $hot->lines;
is_deeply [@$line{qw(limit shard store id remedy)}], ['api', $name, 'main', $id, 'mode=lease asks less'], 'limit, shard and id';
# Half of the other keys are on this shard: 30 of 65. Of some 13,000 commands one in 16 counts: five deviations are 9%, and
# the share in the log is rounded down.
cmp_ok abs($line->{percent} - 100 * 6000 / $sent), '<=', 10, 'its share';
is $line->{commands}, $sent, 'the commands of the minute';
is scalar($hot->lines), 1, 'one line';
unlike $nginx->error_log, qr/secret-of-a-client/, 'its text is not in the log';

done;

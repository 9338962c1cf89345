# Once a minute the log names a key that makes more than a fifth of the commands to a shard: its limit, its share, the shard, and the id that
# $rate_limit_id has. The key itself is not in the log.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2);
my $nginx  = RateLimit::Nginx->start(
    clock  => 1, http => $shards->block('main') . 'keepalive_requests 1000000; add_header X-Id $rate_limit_id;',
    server => 'location /limits/ { rate_limit_console view; } location / { rate_limit_key $arg_k; rate_limit 1000000r/h name=api store=main mode=charge_refund; }',
);
# The clock stands ten seconds after a minute's begin. Workers look at it once a second; who is answered after that comes after the look.
my sub stand_at ($time) { $nginx->stand_at($time); let_pass(1.5); $nginx->get('/limits/') }
my sub named () {
    return $nginx->error_log =~ /\[warn\] .*rate limit "(.*)": one key makes (\d+)% of the (\d+) commands that this nginx sent in a minute to shard "(.*)" of "main", id ([\da-f]{16}): mode=lease asks less/g;
}

my $minute = 60 * int(time / 60) + 3610;
stand_at($minute);
my $id    = $nginx->get('/x?k=secret-of-a-client')->header('X-Id');
my $name  = ($shards->names)[$shards->primary(1)->cmd('EXISTS', 'rl:api/3600:secret-of-a-client')];
my @uris  = map { $_ % 10 < 3 ? '/x?k=secret-of-a-client' : "/x?k=$_" } 1 .. 100;
my $flood = RateLimit::Flood->start(port => $nginx->port, uris => \@uris, requests => 20_000, connections => 64);
is $flood->counts->{2}, 20_000, 'all pass';
my $sent = sum0($nginx->get('/limits/metrics')->body =~ /node_commands_total\{[^}]*shard="\Q$name\E"[^}]*\} (\d+)/g);
stand_at($minute + 60);
wait_until { named() } timeout => 20, what => 'the line';
my ($limit, $percent, $commands, $shard, $told) = named();
is_deeply [$limit, $shard, $told], ['api', $name, $id], 'limit, shard and id';
# Half of the other keys are on this shard: 30 of 65. Of some 13,000 commands one in 16 counts: five deviations are 9%, and
# the share in the log is rounded down.
cmp_ok abs($percent - 100 * 6000 / $sent), '<=', 10, 'its share';
is $commands, $sent, 'the commands of the minute';
is scalar(my @all = named()), 5, 'one line';
unlike $nginx->error_log, qr/secret-of-a-client/, 'its text is not in the log';

done;

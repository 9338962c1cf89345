# A variable chooses a store with regions, whose lines stand in files of their own: limits that fit are counted over the regions, those that do
# not are errors, which the log tells once, with the remedy.

use RateLimit::Test;

my ($eu, $us) = map { RateLimit::Redis->start } 1 .. 2;
my $near  = RateLimit::Redis->start(replica_of => $us);
my $alone = RateLimit::Shards->start(1);
my $nginx = RateLimit::Nginx->start(
    files => {
        'eu.conf' => "shard a primary=@{[$eu->address]};",
        'us.conf' => "region us { include html/us-shards.conf; }",
        'us-shards.conf' => "shard a replica=@{[$near->address]};",
    },
    http => 'rate_limit_redis global { region eu { include %%DIR%%/html/eu.conf; } include %%DIR%%/html/us.conf; here eu; ' . always_checks() . ' }'
        . $alone->block('alone', always_checks()) . 'rate_limit_key $arg_k;',
    server => 'add_header X-Outcome $rate_limit_status always;
        location /clock { rate_limit 10r/d window=clock store=$arg_store; }
        location /first { rate_limit 10r/d store=$arg_store; }');

sub ask ($place, $store) {
    my $r = $nginx->get("/$place?k=a&store=$store");
    return join ' ', outcome($r), limits($r)->{used} // '-';
}

is ask('clock', 'global'), '200 PASSED 1', 'a limit of windows by the clock';
wait_until { $eu->used('a', 'default/86400c') == 1 } what => 'its charge';
$us->cmd('HMSET', 'rl:default/86400c:a', %{$eu->stored('a', 'default/86400c')}, used => 4);
wait_until { $near->used('a', 'default/86400c') == 4 } what => 'the replica of the other region';
is ask('clock', 'global'), '200 PASSED 6', '... counts what the other region has charged';
is ask('clock', 'alone'),  '200 PASSED 1', '... and in another store what that has';

is ask('first', 'alone'), '200 PASSED 1', 'windows that open with the first request, in a store without regions';
is ask('first', 'global'), '200 ERROR_ALLOWED -', '... cannot be counted over regions';
is $nginx->count_log(qr/\[error\].*has windows that open with the first request, at another time in each region: write "window=clock", or "store="/), 1,
    '... which the log tells, with the remedy';
is $nginx->count_log(qr/\[error\]/), 1, '... and nothing else';

done;

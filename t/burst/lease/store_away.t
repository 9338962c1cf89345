# A bucket in `lease` while its primary is away: what is at hand is spent until it dies, then rate_limit_on_error says what becomes of
# requests; when Redis is back, so is the bucket. A killed worker's batch holds up nobody.

use RateLimit::Test;

my $redis = RateLimit::Redis->start(appendonly => 1);
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $redis) . 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_mode lease; rate_limit_on_error deny;
        add_header X-Outcome "$rate_limit_status $rate_limit_source" always;',
    server => 'location / { rate_limit 100r/s burst=2000; rate_limit_lease 1000; }');
my sub ask ($key) { return $nginx->get('/x', 'X-Key' => $key)->header('X-Outcome') }

# Tokens live for a second: a machine that takes so long for this is asked again.
my sub outlives () {
    wait_until { ask('a') eq 'PASSED primary' } what => 'a batch';
    my $fetched = monotonic();
    $redis->kill;
    my $outcome = ask('a');
    return $outcome if $outcome eq 'PASSED tokens' || monotonic() - $fetched < 0.5;
    $redis->restart;
    return '';
}
is +(wait_until { outlives() } what => 'a batch, and the next request in time'), 'PASSED tokens', 'a batch outlives Redis';
my $spent = 0;
wait_until { my $outcome = ask('a'); $spent += $outcome eq 'PASSED tokens'; $outcome eq 'ERROR_DENIED none' } what => 'the tokens to die', timeout => 10;
cmp_ok $spent, '<', 999, 'not all were spent';
$redis->restart;
wait_until { ask('a') eq 'PASSED tokens' } what => 'tokens';
pass 'there are tokens again';

$redis->freeze;
my @hung = map { $nginx->begin('/x', 'X-Key' => 'b') } 1 .. 4;
$nginx->kill_worker for 1 .. 2;
$redis->thaw;
wait_until { my $response = eval { ask('b') } // ''; $response =~ /PASSED/ } what => 'another worker to fetch';
pass 'a batch on its way ends with its worker';

done;

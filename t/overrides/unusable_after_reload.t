# The last good overrides that machines share hold, and are written again with the next act, also where a reload lies between: those in Redis are gone or
# garbage by then. A machine that has never seen any sets none over garbage, for that would end those of all others; where there is nothing it does.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my @start = (
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis, 'overrides shared; ' . timeouts('9s')) . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 1000r/h store=main; }',
);
my ($here, $there) = map { RateLimit::Nginx->start(@start) } 1 .. 2;
my sub ban ($nginx, $key) {
    return $nginx->post('/limits/key', "do=ban&limit=default&key=$key", 'Content-Type' => 'application/x-www-form-urlencoded');
}
my sub settled ($nginx, $key) { return join ' ', sort { $a <=> $b } keys %{statuses(map { $nginx->get('/x', 'X-Key' => $key) } 1 .. 8)} }

my $key   = 'rl:!overrides';
my $later = 9_000_000_000_000;
my sub spoil ($value) { $redis->cmd('HSET', $key, 'version', $later += 1000, 'default/:x', $value) }
my %cases = (
    'gone'                              => sub { $redis->cmd('DEL', $key) },
    'not what this module writes'       => sub { spoil('1 nonsense') },
    'of another version of this module' => sub { spoil('2 ban') },
);
is ban($here, 'a')->status, 200, 'a ban';
my $line = qr/the overrides at "rl:!overrides" of "rate_limit_redis main" are/;
for my $case (sort keys %cases) {
    my $new = substr $case, 0, 2;
    wait_until { settled($there, 'a') eq '429' } what => 'the ban on the other machine';
    my $told = $here->count_log(qr/$line $case: /);
    $cases{$case}->();
    wait_until { $here->count_log(qr/$line $case: /) > $told } what => "$case: said";
    $here->reload(wait_old => 1);
    is ban($here, $new)->status, 200, '... an act after a reload';
    wait_until { settled($there, $new) eq '429' } what => '... holds on the other machine';
    is settled($_, 'a'), 429, '... and so does what was known' for $here, $there;
    is $here->count_log(qr/$line $case: /), $told + 1, '... which is said once';
}

spoil('2 ban');
my $fresh   = RateLimit::Nginx->start(@start);
my $refused = ban($fresh, 'f');
is $refused->status, 503, 'a machine that has seen none sets none over what it cannot read';
is decode_json($refused->body)->{error}, 'StoreUnavailable', '... as the answer says';
like decode_json($refused->body)->{description}, qr/delete the key/, '... with the remedy';
is $redis->hash($key)->{'default/:x'}, '2 ban', '... and nothing was written';
$fresh->wait_log(qr/$line of another version of this module: .*; none can be set until you delete that key in Redis/);
is settled($there, 'a'), 429, 'the others hold';
is ban($here, 'h')->status, 200, 'who knows them writes them';
wait_until { settled($fresh, 'a') eq '429' } what => 'all, on the new machine';

$redis->cmd('DEL', $key);
is ban(RateLimit::Nginx->start(@start), 'f')->status, 200, 'where there is nothing a new machine sets the first';
$_->expect_log(qr/$line/) for $here, $there, $fresh;
done;

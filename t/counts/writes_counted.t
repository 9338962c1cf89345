# The console tells what became of all that was written to a shard: what its primary has taken, what waits for it, what was dropped, what
# is in doubt, and what expired: no charge of a window that has closed is a loss. JSON and metrics say the same.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $redis),
    server  => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error local;
        location /limits/ { rate_limit_console view; }
        location /charge { rate_limit 1000r/h name=c; }
        location /short { rate_limit 1000r/s name=s; }
        location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }',
);
my sub shard () { return decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0] }
my sub writes (%change) {
    my %all = map { $_ => {stored => 0, dropped => 0, in_doubt => 0, expired => 0} } qw(charge reservation refund);
    while (my ($kind, $results) = each %change) { $all{$kind} = {%{$all{$kind}}, %$results} }
    return \%all;
}
is_deeply shard()->{writes}, writes(), 'nothing at first';
is_deeply shard()->{waiting}, {windows => 0, charges => 0}, 'nothing waits';

for my $n (1 .. 5) {
    is $nginx->get("/charge?k=$n")->status, 200, 'a charge';
    is $nginx->get("/reserve?k=$n")->status, 200, 'a reservation';
    is $nginx->get("/reserve?k=$n", 'If-None-Match' => '*')->status, 304, 'a reservation that is refunded';
}
my $stored = writes(charge => {stored => 5}, reservation => {stored => 10}, refund => {stored => 5});
wait_until { shard()->{writes}{refund}{stored} == 5 && shard()->{writes}{charge}{stored} == 5 } what => 'all to be stored';
is_deeply shard()->{writes}, $stored, 'each once';

$redis->kill;
$nginx->get("/charge?k=$_") for 1, 1, 2;
$nginx->get('/short?k=1');
my $asked = now;
wait_until { shard()->{waiting}{charges} >= 3 } what => 'charges to be seen waiting';
cmp_ok shard()->{waiting}{windows}, '>=', 2, 'for two windows, and perhaps the one that ends soon';
wait_until { now > $asked + 1 } what => 'the end of the short window';
$redis->restart;
wait_until { shard()->{writes}{charge}{stored} == 8 } what => 'what waited to be stored';
wait_until { shard()->{writes}{charge}{expired} == 1 } what => 'what waited too long to expire';
wait_until { shard()->{waiting}{charges} == 0 && shard()->{waiting}{windows} == 0 } what => 'nothing to wait any more';
$stored->{charge} = {stored => 8, dropped => 0, in_doubt => 0, expired => 1};
is_deeply shard()->{writes}, $stored, 'nothing else is counted';

my $metrics = $nginx->get('/limits/metrics')->body;
my ($name)  = shard()->{name};
while (my ($kind, $results) = each %$stored) {
    is $metrics =~ /^nginx_rate_limit_writes_total\{store="main",shard="\Q$name\E",kind="$kind",result="$_"\} (\d+)$/m ? $1 : undef,
        $results->{$_}, "metrics: $kind $_"
        for sort keys %$results;
}

done;

# A client has as many requests running as the limit says, on a machine, or on all of them together through Redis, and a slot is free again when a request ends.
# What headers, variables and the list of keys that are rejected most tell of it: there is no window that ends.

use RateLimit::Test;
use JSON::PP;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        up => $backend, http => redis_block('main', $redis),
        server => 'rate_limit_headers github ietf; rate_limit_key $arg_k; location /limits/ { rate_limit_console view; }
            add_header X-Told "$rate_limit_all $rate_limit_source <$rate_limit_reset>" always;
            location /local { rate_limit_concurrency 3 name=local; proxy_pass http://%%UP%%; }
            location /main { rate_limit_concurrency 3 name=main store=main; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;

for my $name (qw(local main)) {
    my @machines = $name eq 'main' ? @nginx : $nginx[0];
    my @open = map { $machines[$_ % @machines]->reach($backend, "/$name/slow?k=a") } 0 .. 2;
    for my $nginx (@machines) {
        my $rejected = $nginx->get("/$name?k=a");
        shows $rejected, 429, {limit => 3, used => 3, remaining => 0, resource => $name, retry_after => 1}, "$name: the fourth is rejected, for a second";
        like $rejected->header('X-RateLimit-Reset') - $rejected->date, qr/^[12]$/, '... which its reset says too, rounded up';
        is $rejected->header('RateLimit-Policy'), qq("$name";q=3;qu="concurrent-requests"), '... the draft has the policy';
        is $rejected->header('RateLimit'), qq("$name";r=0), '... and nobody knows when more is available';
        like $rejected->header('X-Told'), qr{^$name=REJECTED:3/3 \w+ <\d+>$}, '... as the variables say';
    }
    if ($name eq 'main') {
        my %slots = $redis->cmd('HGETALL', 'rl:main/n:a')->@*;
        is_deeply [sort map { /^(\d+) / } values %slots], [1, 2], 'a field for each machine';
        like $_, qr/^[0-9a-f]{16}$/ for keys %slots;
    }
    is $nginx[0]->get("/$name?k=b")->status, 200, 'another client has slots of its own';
    $backend->release('gate');
    is $_->response->status, 200 for @open;
    for my $nginx (@machines) {
        my $passed = wait_until { my $response = $nginx->get("/$name?k=a"); $response->status == 200 && $response } what => 'the slots to come back';
        shows $passed, 200, {limit => 3, resource => $name, reset => undef, retry_after => undef}, 'one passes, whose slot nobody knows to end';
        my ($used, $remaining) = @{limits($passed)}{qw(used remaining)};
        is $used + $remaining, 3, "$used of three are used";
        is $used, 1, '... by this request' if $name eq 'local';
        is $passed->header('RateLimit'), qq("$name";r=$remaining), '... as the draft has it';
        like $passed->header('X-Told'), $name eq 'local' ? qr{^local=PASSED:1/3 memory <>$} : qr{^main=PASSED:$used/3 \w+ <>$}, '... and the variables';
    }
}
wait_until { !grep { /^[1-9]/ } values %{$redis->hash('rl:main/n:a')} } what => 'idle slots to go back';
my $json = decode_json($nginx[0]->get('/limits/json')->body);
is_deeply [sort map { "$_->{limit} $_->{rejected}" } @{$json->{top}{keys}}], ['local 1', 'main 1'], 'their keys are listed';
is sum0(map { $_->{rejected} } map { @{$_->{minutes}} } @{$json->{limits}}), 2, '... and their minutes';

done;

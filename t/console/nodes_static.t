# The console tells each node of the configuration from the start, with its role, whether it is up and since when, the commands that it was
# sent, and its errors by kind; JSON and metrics say the same.

use RateLimit::Test;
use JSON::PP;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    workers => 2,
    http    => $shards->block('main'),
    server  => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error local;
        location /limits/ { rate_limit_console view; }
        location / { rate_limit 1000r/h name=n; }',
);
my sub json () { return $nginx->told }
my sub shards () { my ($store) = @{json()->{stores}}; return @{$store->{shards}} }
my sub nodes ()  { return map { @{$_->{nodes}} } shards() }

my @first = shards();
is_deeply [map { $_->{name} } @first], [$shards->names], 'the shards of the configuration';
for my $i (0, 1) {
    is_deeply [map { {%$_{qw(address role up commands)}} } @{$first[$i]{nodes}}],
        [
            {address => $shards->primary($i)->address, role => 'primary', up => JSON::PP::true, commands => 0},
            {address => $shards->replica($i)->address, role => 'replica', up => JSON::PP::true, commands => 0},
        ],
        'its nodes are up and have been sent nothing';
}
my ($kinds) = map { $_->{errors} } nodes();
ok !(grep { $_ != 0 } values %$kinds), 'all errors are 0';
ok exists $kinds->{$_}, "there is $_" for qw(connection silent noscript readonly loading other);
ok !exists $kinds->{none}, 'no error is none';

# Each request is a check of a replica and a charge.
my $requests = 60;
is_deeply statuses(map { $nginx->get("/?k=$_") } 1 .. $requests), {200 => $requests}, 'requests pass';
my sub commands () { my %sum; $sum{$_->{role}} += $_->{commands} for nodes(); return \%sum }
# A check that takes too long goes to the primary, too; one of a worker whose replica is not connected yet goes there alone.
my sub checks ($of) { return sum0(map { $shards->$of($_)->calls('hmget') } 0, 1) }
wait_until { commands()->{primary} == $requests + checks('primary') } what => 'charges to be counted';
is_deeply commands(), {primary => $requests + checks('primary'), replica => checks('replica')}, 'each check and each charge once';
cmp_ok checks('replica'), '<=', $requests, 'no check goes to a replica twice';
cmp_ok checks('replica') + checks('primary'), '>=', $requests, '... and each one somewhere';

my $gone = $shards->primary(0);
my $at   = time;
$gone->kill;
my sub state_of ($server) { my ($node) = grep { $_->{address} eq $server->address } nodes(); return $node }
wait_until { $nginx->get('/?k=' . rand); !state_of($gone)->{up} } what => 'the primary to be held for down';
my $node = state_of($gone);
cmp_ok $node->{since}, '>=', $at, 'since it went';
cmp_ok $node->{errors}{connection}, '>', 0, 'its errors are counted';
is $node->{answer_time}, undef, 'it takes no time to answer';
is state_of($shards->replica(0))->{up}, JSON::PP::true, 'its replica is up';
my sub answer_times () { return grep { defined } map { $_->{answer_time} } nodes() }
wait_until { answer_times() == 3 } what => 'what the others take to answer';
ok !(grep { $_ <= 0 || $_ > 1 } answer_times()), 'in seconds';

my $labels  = qr/store="main",shard="a",node="\Q@{[$gone->address]}\E"/;
my $metrics = $nginx->get('/limits/metrics')->body;
like $metrics, qr/^nginx_rate_limit_node_up\{$labels\} 0$/m, 'metrics: it is not up';
like $metrics, qr/^nginx_rate_limit_node_role\{$labels\} 1$/m, '... and a primary';
like $metrics, qr/^nginx_rate_limit_node_commands_total\{$labels\} [1-9]\d*$/m, '... with its commands';
like $metrics, qr/^nginx_rate_limit_node_errors_total\{$labels,kind="connection"\} [1-9]\d*$/m, '... and its errors';
my $answers = qr/^nginx_rate_limit_node_answer_seconds\{store="main",shard="\w+",node="\S+",role="(\w+)"\} \d/m;
is_deeply [sort $metrics =~ /$answers/g], [qw(primary replica replica)], '... and how long the others take to answer';
my @series = $metrics =~ /^(nginx_rate_limit_node_\w+\{[^}]*\})/mg;
is scalar(@series), 4 * (3 + keys %$kinds) + 3, 'each series of each node';
is_deeply [sort keys %{{map { $_ => 1 } @series}}], [sort @series], '... once';

$gone->restart;
wait_until { $nginx->get('/?k=' . rand); state_of($gone)->{up} } what => 'it to be up again';
cmp_ok state_of($gone)->{since}, '>', $node->{since}, 'since it came back';

# The counts continue over a reload.
wait_until {
    my $sum = commands()->{primary};
    let_pass(0.2);
    $sum == commands()->{primary} && !grep { $_->{waiting}{windows} } shards()
} what => 'all charges to be sent';
my %before = map { $_->{address} => $_->{commands} } nodes();
$nginx->reload(wait_old => 1);
is_deeply {map { $_->{address} => $_->{commands} } nodes()}, \%before, 'counts survive a reload';

done;

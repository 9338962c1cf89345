# In a cluster, too, a batch or refund whose answer is lost counts once: cut off at its node, and again asked for after its slot has moved.

use RateLimit::Test;

my %seen;
my $cluster = RateLimit::Cluster->start(replicas => 0, node_timeout => 15_000);
my %relay   = map {
    $_->port => RateLimit::FakeRedis->start(handler => relaying($_, sub ($words, $conn, $answer) {
        return $answer if $words->[0] ne 'evalsha' || (@$words != 15 && @$words != 9) || $answer =~ /^-/;
        return $seen{"@$words[3, -2, -1]"}++ ? $answer : $conn->cut(1);
    }))
} $cluster->nodes;
$_->cmd('CONFIG', 'SET', 'cluster-announce-port', $relay{$_->port}->port) for $cluster->nodes;
my @announced = sort map { $_->port } values %relay;
wait_until {
    "@announced" eq join ' ', sort map { $_->[2][1] } @{($cluster->nodes)[0]->cmd('CLUSTER', 'SLOTS')}
} what => 'the nodes to announce the relays';
my $nginx = RateLimit::Nginx->start(
    http => 'rate_limit_redis main { cluster ' . join(' ', map { $_->address } values %relay) . '; ' . timeouts('9s') . ' }
        rate_limit_mode lease; rate_limit_store main; rate_limit_key $arg_k; rate_limit_on_error deny;',
    server => 'location / { rate_limit 2000r/h; rate_limit_lease 20; }',
);

my @keys = map { "k$_" } 1 .. 6;
my %passed;
my sub pass ($count) {
    for my $key ((@keys) x $count) {
        wait_until { $nginx->get("/x?k=$key")->status == 200 } what => "$key to pass";
        $passed{$key}++;
    }
    return;
}
pass(50);
cmp_ok scalar(grep { is_batch($_) } map { $_->commands('evalsha') } values %relay), '>=', 2 * 6,
    'a batch of each was asked for twice';    # on a busy machine others go without a number, while one that has it is under way
my ($from, $to) = $cluster->primaries;
my ($moved) = grep { $cluster->primary_of("rl:default/3600:$_") == $from } @keys;
$cluster->migrate_slots($from, $to, $cluster->slot_of("rl:default/3600:$moved"));
pass(50);
$nginx->stop;
is_deeply {map { $_ => $cluster->used($_) } @keys}, \%passed, 'what passed is what is stored';
is $nginx->count_log(qr/doubt/), 0, 'nothing is in doubt';

done;

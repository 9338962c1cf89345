# Row 22 of the fault matrix. While a primary is replaced, a node may know that the old one is none any more, and not yet who follows: its
# map gives those slots to nobody. They stay with the old one, which redirects: no reservation meets an error.

use RateLimit::Test;

my @ports = (free_port(), free_port(), free_port());
my ($old, $other, $next) = map { "127.0.0.1:$_" } @ports;
my @rest = [8192, 16383, $other];

# The first node is replaced by the third, of which no map has said anything until the state is "known": so each slot is redirected by itself.
my $reserves = reserving((time + 1800) . '000');
my sub handler ($me) {
    return sub ($words, $conn) {
        my $state = $conn->state('state') // 'before';
        my @first = $state eq 'before' ? [0, 8191, $old] : $state eq 'known' ? [0, 8191, $next, $old] : ();
        return cluster_slots(@first, @rest) if $words->[0] eq 'cluster';
        my $slot = RateLimit::Cluster->slot_of_command($words) // return fallback($words);
        return error("MOVED $slot $next") if $me == 0 && $state ne 'before';
        return $reserves->($words, $conn);
    };
}
my @nodes = map { RateLimit::FakeRedis->start(port => $ports[$_], handler => handler($_)) } 0 .. 2;
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { cluster $old; check_timeout 9s; connect_timeout 9s; charge_timeout 20s; }",
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit 1000r/h mode=charge_refund;',
);
my $client = $nginx->http;
my @keys = grep { RateLimit::Cluster->slot_of("rl:default/3600:$_") < 8192 } 1 .. 2000;
my sub passes ($key) { return $client->get("/?k=$key")->status == 200 }
my sub maps () { return scalar grep { $_->[0] eq 'cluster' } map { $_->commands } @nodes }
wait_until { passes($keys[0]) } what => 'the map';
shift @keys;

$_->set(state => 'unknown') for @nodes;
$_->forget for @nodes;
my @failed;
# nginx asks again when it has taken the answer. Redirections are the reason to ask.
wait_until {
    my $key = shift @keys;
    push @failed, $key if !passes($key);
    maps() >= 3
} what => 'maps without the slots';
is "@failed", '', 'reservations pass, of whichever slot';
ok passes(shift @keys), 'and one more' for 1 .. 10;
cmp_ok scalar(grep { RateLimit::Cluster->slot_of_command($_) } $nodes[0]->commands), '>', 10, 'the old one has redirected them';
is $nginx->count_log(qr/no more: \Q$old\E|is down/), 0, 'nobody tells of a primary that is gone';

$_->set(state => 'known') for @nodes;
wait_until { passes(shift @keys); $nginx->count_log(qr/primaries no more: \Q$old\E/) } what => 'the new primary', timeout => 30;
ok passes(shift @keys), 'one more' for 1 .. 5;
$nodes[0]->forget;
ok passes(shift @keys), 'one more' for 1 .. 5;
is scalar(grep { RateLimit::Cluster->slot_of_command($_) } $nodes[0]->commands), 0, 'and the old one is not asked';

done;

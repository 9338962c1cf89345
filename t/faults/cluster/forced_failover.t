# Row 22 of the fault matrix. A failover with FORCE and one with TAKEOVER under load: all requests are answered, and the books balance: what
# the former primary took and had not replicated yet is lost, and nothing else.
# nightly

use RateLimit::Test;

my $cluster = RateLimit::Cluster->start;
my $load    = RateLimit::ClusterLoad->open($cluster, modes => [qw(check_charge charge_refund)], requests => 3200)->begin;
let_pass(0.5);
my %how = (1 => 'FORCE', 2 => 'TAKEOVER');
for my $key (sort keys %how) {
    $cluster->failover(($cluster->replicas_of("rl:check_charge/86400:$key"))[0], $how{$key});
}
my $passed = $load->stop_after_failover;
my $stored = sum0 values %{$load->stored};
cmp_ok $stored, '<=', $passed, 'none is stored twice';
cmp_ok $stored, '>=', $passed - 40, 'few are lost: ' . ($passed - $stored);
$load->nothing_lost_by_failover;

done;

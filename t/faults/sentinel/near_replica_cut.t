# The near one of the replicas that sentinels name is read; while it is cut off the far one is, and the near one is read again when
# it is back.

use RateLimit::Test;

# This test needs nothing that sentinels decide, so down_after is long.
my $set      = RateLimit::Sentinels->start(down_after => 60_000);
my @replicas = $set->replicas;
my @proxies  = RateLimit::NearReplica->before(map { $_->port } @replicas);
$replicas[$_]->cmd('CONFIG', 'SET', 'replica-announce-port', $proxies[$_]->port) for 0, 1;
$set->primary->cmd('CLIENT', 'KILL', 'TYPE', 'replica');    # they tell it when they connect
my $wanted = join ' ', sort map { $_->port } @proxies;
my sub told ($info) { return join ' ', sort map { /port=(\d+)/ ? $1 : () } map { $info->{$_} } grep { /^slave\d+$/ } keys %$info }
wait_until { told($set->primary->info('replication')) eq $wanted } what => 'the replicas to announce the proxies';
$_->cmd('SENTINEL', 'RESET', 'mymaster') for $set->sentinels;    # what replicas were called before is forgotten
wait_until { !grep { $wanted ne join ' ', sort map { $_->{port} } $_->replicas_of('mymaster') } $set->sentinels } what => 'the sentinels to name them';
$set->wait_known;
RateLimit::NearReplica->read($set->block('main', always_checks()), @proxies);

done;

# A replica that lives is read from when the primary does not answer, whatever sentinels think of its health: in TILT they hold
# to what they thought last. While the primary answers, no replica that they think unfit is read. One that belongs elsewhere never is.

use RateLimit::Test;

my $reads = sub ($words, $conn) {
    return hmget(undef, undef) if $words->[0] eq 'hmget';
    return RateLimit::FakeRedis::is_write($words) ? array(integer(1), integer((time + 1800) . '000')) : fallback($words);
};
my ($primary, $replica) = map { RateLimit::FakeRedis->start(handler => $reads) } 1 .. 2;
my %as = (fit => {}, link => {'master-link-status' => 'err'}, down => {flags => 's_down,slave'}, cut => {flags => 'slave,disconnected'},
    all => {flags => 's_down,o_down,slave,disconnected', 'master-link-status' => 'err'},
    promoted => {'role-reported' => 'master', 'master-link-status' => 'err'}, hidden => {'replica-announced' => 0});
my %fields = (ip => '127.0.0.1', port => $replica->port, flags => 'slave', 'role-reported' => 'slave', 'master-link-status' => 'ok', 'replica-announced' => 1);
my %listed = map { $_ => nested([[%{{%fields, %{$as{$_}}}}]]) } keys %as;
my @master = (ip => '127.0.0.1', port => $primary->port, 'config-epoch' => 1);
my $sentinel = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'sentinel';
    return nested([@master, flags => $conn->state('master')]) if lc $words->[1] eq 'master';
    return lc $words->[1] eq 'replicas' ? $listed{$conn->state('replica')} : array();
}, state => {master => 'master', replica => 'fit'});
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { sentinel @{[$sentinel->address]}; shard a master=m; fresh off; check_timeout 2s; connect_timeout 2s; }",
    server => 'location / { rate_limit_key $http_x_key; rate_limit 100000r/h store=main; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always; }',
);
my $nth = 0;
my sub ask () { return outcome($nginx->get('/x', 'X-Key' => ++$nth)) }
my sub read_at ($fake) { $fake->forget; ask() for 1 .. 3; return scalar $fake->commands('hmget') }
# The sentinel's word is known when it has been asked for the replicas twice since.
my sub say ($master, $as) {
    $sentinel->set(master => $master);
    $sentinel->set_and_forget(replica => $as);
    wait_until { 2 <= grep { lc $_->[1] eq 'replicas' } $sentinel->commands('sentinel') } what => "$master, $as to be known";
}
wait_until { ask() eq '200 PASSED' } what => 'the primary to be found';
say('master', 'fit');
is read_at($replica), 3, 'a fit replica is read';

for my $as (qw(link down cut all)) {
    for my $master ('master', 's_down,o_down,master,disconnected') {
        say($master, $as);
        is read_at($primary), 3, "$master, $as: the primary is read while it answers";
        $primary->stop;
        wait_until { ask() eq '200 PASSED' } what => "$master, $as: the replica to be read";
        is read_at($replica), 3, "$master, $as: the replica is read";
        $primary->restart;
        wait_until { read_at($primary) == 3 } what => "$master, $as: the primary to be read again";
    }
}
for my $as (qw(promoted hidden)) {
    say('master', $as);
    $primary->stop;
    wait_until { ask() eq '503 ERROR_DENIED' } what => "$as: the primary to be missed";
    is read_at($replica), 0, "$as: it is not asked";
    $primary->restart;
    wait_until { ask() eq '200 PASSED' } what => "$as: the primary to be back";
}

done;

# Where sentinels think all replicas unfit, and the primary does not answer, one that is connected and answers is read alone: the others, most of which are
# down or were taken away long ago, are tried when nobody else answers, and not before.

use RateLimit::Test;

my sub server () {
    return RateLimit::FakeRedis->start(
        welcome => sub ($conn) { $conn->{server}->note('welcome') },
        handler => sub ($words, $conn) {
            return hmget(undef, undef) if $words->[0] eq 'hmget';
            return RateLimit::FakeRedis::is_write($words) ? array(integer(1), integer((time + 1800) . '000')) : fallback($words);
        },
    );
}
my ($primary, $replica, $other) = map { server() } 1 .. 3;
my sub listed ($fake, $flags, $link) {
    return [ip => '127.0.0.1', port => $fake->port, flags => $flags, 'role-reported' => 'slave', 'master-link-status' => $link, 'replica-announced' => 1];
}
my $gone = listed($other, 's_down,slave,disconnected', 'err');
my %said = (fit => nested([listed($replica, 'slave', 'ok'), $gone]), unfit => nested([listed($replica, 'slave', 'err'), $gone]));
my @master   = (ip => '127.0.0.1', port => $primary->port, 'config-epoch' => 1, flags => 'master');
my $sentinel = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'sentinel';
    return nested([@master]) if lc $words->[1] eq 'master';
    return lc $words->[1] eq 'replicas' ? $said{$conn->state('replicas')} : array();
}, state => {replicas => 'fit'});
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis main { sentinel @{[$sentinel->address]}; shard a master=m; fresh off; check_timeout 9s; connect_timeout 9s; }",
    server => 'location / { rate_limit_key $http_x_key; rate_limit 100000r/h store=main mode=check_charge; rate_limit_on_error deny;
        add_header X-Outcome $rate_limit_status always; }',
);
my $nth = 0;
my sub ask () { return outcome($nginx->get('/x', 'X-Key' => ++$nth)) }
my sub read_at ($fake) { $fake->forget; ask() for 1 .. 9; return scalar $fake->commands('hmget') }

wait_until { ask() eq '200 PASSED' } what => 'the primary to be found';
wait_until { read_at($replica) == 9 } what => 'the fit replica to be read';
$sentinel->set_and_forget(replicas => 'unfit');
wait_until { 2 <= grep { lc $_->[1] eq 'replicas' } $sentinel->commands('sentinel') } what => 'it to be known as unfit';
$primary->stop;
wait_until { read_at($replica) == 9 } what => 'the replica to be read without a primary';
is_deeply [$other->commands], [], 'nobody has connected to the other one';

$replica->stop;
wait_until { ask() eq '200 PASSED' } what => 'the other one to be tried';
is read_at($other), 9, 'where nobody else answers it is read';
$replica->restart;
$other->stop;
wait_until { read_at($replica) == 9 } what => 'the replica to be read again';

done;

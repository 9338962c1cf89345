# Sentinels that only others named are forgotten when they are down and named no more: in the votes of those that are left they do not count.

use RateLimit::Test;

my ($before, $after) = map { RateLimit::Redis->start } 1 .. 2;
my @gone = map { RateLimit::FakeRedis->start } 1 .. 2;
my @names = map { [ip => '127.0.0.1', port => $_->port, flags => 'sentinel'] } @gone;
my $left = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'sentinel';
    my $reset = $conn->state('reset');
    return nested([ip => '127.0.0.1', port => ($reset ? $after : $before)->port, flags => 'master', 'config-epoch' => $reset ? 0 : 5])
        if $words->[1] =~ /master/i;
    return $words->[1] =~ /sentinels/i && !$conn->state('removed') ? nested(\@names) : array();
});
my $nginx = RateLimit::Nginx->with_limit('1000r/h',
    'rate_limit_redis main { sentinel ' . $left->address . '; shard a master=m; check_timeout 2s; }', key => 'k');
wait_until { 2 == grep { $_->commands('sentinel') } @gone } what => 'the others to be asked';
$_->stop for @gone;
wait_until { $nginx->count_log(qr/sentinel \S+ of "main" is down/) == 2 } what => 'them to be missed';
$left->set(reset => 1);
my $asked = $left->commands('sentinel');
wait_until { $left->commands('sentinel') > $asked + 8 } what => 'some rounds';
is $nginx->count_log(qr/before it was/), 0, 'one sentinel of three is not believed what is older';
$left->set(removed => 1);
$nginx->wait_log(qr/sentinels name \Q${\ $after->address}\E as the primary/, timeout => 30);
pass 'one of one is';

done;

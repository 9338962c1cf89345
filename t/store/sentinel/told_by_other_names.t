# Sentinels tell of one another by names that the configuration has otherwise, or not at all, and there is no resolver: each is known once,
# and two of three that agree are more than half.

use RateLimit::Test;

my ($old, $new) = map { RateLimit::Redis->start } 1 .. 2;
my @primary = map { '127.0.0.1 ' . $_->port . ' 0' } $old, $new;
my @sentinels = map { RateLimit::FakeRedis->start(handler => watching, state => {primary => $primary[0]}) } 1 .. 3;
my @ports = map { $_->port } @sentinels;
for my $i (0 .. 2) {
    $sentinels[$i]->set(others => join ' ', map { "localhost:$_" } grep { $_ != $ports[$i] } @ports);
}
for my $host ('LocalHost', '127.0.0.1') {
    $_->set(primary => $primary[0]) for @sentinels;
    my $nginx = RateLimit::Nginx->with_limit('1000r/h',
        'rate_limit_redis main { sentinel ' . join(' ', map { "$host:$_" } @ports) . '; shard a master=m; check_timeout 2s; }', key => 'k');
    $nginx->wait_log(qr/sentinels name \Q${\ $old->address}\E as the primary/);
    my $before = () = $sentinels[2]->commands('sentinel');
    wait_until { $sentinels[2]->commands('sentinel') > $before + 4 } what => 'some rounds';
    $_->set(primary => $primary[1]) for @sentinels[0, 1];
    $nginx->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary/);
    pass "$host: two of three are believed";
    $nginx->stop;
}

done;

# A sentinel whose name was that of another one before, and that is known by its address as well, has one vote.

use RateLimit::Test;

# A name to nginx, which knows addresses of four numbers only, and an address to the system.
my $name = '127.1';
my $dns  = RateLimit::Dns->start(names => {$name => '127.0.0.1'});
my ($old, $new) = map { RateLimit::Redis->start } 1 .. 2;
my @primary = map { '127.0.0.1 ' . $_->port . ' 0' } $old, $new;
my $port  = free_port();
my @hosts = map { "127.0.0.$_" } 1 .. 3;
my ($first, $second, $third) = map {
    my $host = $_;
    RateLimit::FakeRedis->start(host => $host, port => $port, handler => watching,
        state => {primary => $primary[0], others => join ' ', map { "$_:$port" } grep { $_ ne $host } @hosts})
} @hosts;
my $nginx = RateLimit::Nginx->with_limit('1000r/h',
    'resolver ' . $dns->address . " ipv6=off; rate_limit_redis main { sentinel $name:$port; shard a master=m; check_timeout 2s; connect_timeout 2s; }",
    key => 'k');
wait_until { $second->commands('sentinel') && $third->commands('sentinel') } what => 'all of them to be asked';
$dns->set($name => '127.0.0.2');
$first->stop;
wait_until { $second->connections == 2 } what => 'the name to lead to the second';
$second->set(primary => $primary[1]);
my $asked = () = $third->commands('sentinel');
wait_until { $third->commands('sentinel') > $asked + 12 } what => 'some rounds';
is $nginx->count_log(qr/before it was/), 0, 'one of three is not believed';
$third->set(primary => $primary[1]);
$nginx->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary/);
pass 'two of three are';

done;

# More than a thousand handshakes that fail, by a wrong certificate or a lost connection, leave no descriptor and no memory behind.
# nightly

use RateLimit::Test;
use List::Util qw(min);

my $authority = RateLimit::Certificates->authority('ours');
my $stranger  = RateLimit::Redis->start(tls => RateLimit::Certificates->authority('other')->issue('stranger', 'IP:127.0.0.1'));
my $ours      = RateLimit::Redis->start(tls => $authority->issue('server', 'IP:127.0.0.1'));
my @proxies   = map { RateLimit::Proxy->start(to => $_->tls_port) } $stranger, $ours;
$proxies[1]->cut_after(answers => 100);
my $each   = 125;
my $shards = join '', map { my $name = ('w', 'c')[$_]; map { "shard $name$_ primary=@{[$proxies[$name eq 'c']->address]};" } 1 .. $each } 0, 1;
my $nginx  = RateLimit::Nginx->start(
    events => 'worker_connections 2048;',
    http   => "rate_limit_redis main { $shards check_timeout 9s; connect_timeout 9s; ssl on; ssl_trusted_certificate @{[$authority->file]}; }",
    server => 'rate_limit_key $arg_k; rate_limit 100r/h store=main; rate_limit_log_level info; location / {}',
);
my ($worker) = $nginx->workers;
my sub descriptors () { return scalar(() = glob "/proc/$worker/fd/*") }
my sub kilobytes ()   { return read_text("/proc/$worker/status") =~ /RssAnon:\s+(\d+)/ ? $1 : 0 }
my $idle = descriptors();
my $keys = 0;
my sub reach ($count) {
    wait_until {
        $nginx->parallel(connections => 4, requests => [map { ["/x?k=" . ++$keys % 5000] } 1 .. 500]);
        $keys >= 5000 && $proxies[0]->connections + $proxies[1]->connections >= $count
    } timeout => 300, what => "$count handshakes";
    $proxies[0]->stop;    # and what is open ends
    $proxies[1]->stop;
    wait_until { descriptors() <= $idle + 4 } what => 'no descriptor to be left behind';
    my $now = [descriptors(), kilobytes()];
    $_->restart for @proxies;
    $proxies[1]->cut_after(answers => 100);
    return $now;
}

# Malloc keeps the memory of the peak, which is another one each time. A leak grows with each handshake: so the smallest growth is judged, from
# when all keys have charges that wait.
my @after = map { reach(250) } 1 .. 6;
my @more  = map { $after[$_][1] - $after[$_ - 1][1] } 1 .. $#after;
diag "$keys requests: ", join ', 250 handshakes later ', map { "$_->[0] descriptors and $_->[1] kB" } @after;
cmp_ok $after[-1][0], '<=', $idle + 4, 'no descriptor is left behind';
SKIP: {
    skip 'what watches memory keeps some', 1 if $ENV{WATCH};
    cmp_ok min(@more), '<=', 256, 'nor memory';
}

done;

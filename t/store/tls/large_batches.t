# Batches that do not fit into the socket leave later, whole: hundreds of kilobytes of charges to a server that reads slowly.
# Row 6 of the fault matrix.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my ($keys, $each) = (60, 50);

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my $redis = RateLimit::Redis->start(tls => {%$server, protocols => $protocol});
    my $proxy = RateLimit::Proxy->start(to => $redis->tls_port, narrow => 1);
    my $replica = RateLimit::Redis->start(replica_of => $redis, tls => $server);
    my $nginx = RateLimit::Nginx->start(
        http => redis_block('main', [$proxy, $replica],
            timeouts('20s') . "ssl on; ssl_trusted_certificate @{[$authority->file]}; prefix " . 'p' x 64 . ';'),
        server => 'rate_limit_store main; rate_limit_key $arg_k; location / {'
            . join('', map { "rate_limit 99r/h name=n$_;" } 1 .. $each) . '} location /first { rate_limit 99r/h; }',
    );
    is $nginx->get('/first?k=first')->status, 200, "$protocol: a client";
    wait_until { $redis->cmd('DBSIZE') == 1 } what => 'its charge';
    my $before = $proxy->relayed('questions');
    $proxy->stall('questions');
    is $nginx->get('/first?k=first')->status, 200, 'a batch is under way';
    my $long = 'k' x 90;
    my @requests = map { ["/x?k=$long$_"] } 1 .. $keys;
    is_deeply statuses($nginx->parallel(connections => 2, requests => \@requests)), {200 => $keys}, 'many windows are charged';
    $proxy->flow;
    wait_until { $redis->cmd('DBSIZE') == $keys * $each + 1 } what => 'all charges';
    my $bytes = $proxy->relayed('questions') - $before;
    cmp_ok $bytes, '>', 500_000, "$bytes bytes";
    $nginx->stop;
    is $nginx->count_log(qr/rate limit:/), 0, 'without a word';
}

done;

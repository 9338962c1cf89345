# Over TLS, too, a primary whose connections are reset, that freezes or is killed under load keeps no request waiting longer than
# check_timeout, is used again afterwards, and has what was admitted in each mode but for what is in doubt. Lost connections are
# noticed at once.
# Row 4 of the fault matrix.
# nightly

use RateLimit::Test;

use constant {LEASE => 20, ROUNDS => 2};

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my %modes     = ('/c' => 'check_charge', '/r' => 'charge_refund', '/l' => 'lease');

for my $protocol ('TLSv1.2', 'TLSv1.3') {
    my %redis   = (tls => {%$server, protocols => $protocol});
    my $primary = RateLimit::Redis->start(%redis, appendonly => 1);
    my $replica = RateLimit::Redis->start(%redis, replica_of => $primary);
    my $proxy   = RateLimit::Proxy->start(to => $primary->tls_port);
    my $nginx   = RateLimit::Traffic->nginx(
        workers => 2,
        http    => redis_block('main', [$proxy, $replica],
            "check_timeout 1500ms; connect_timeout 2s; charge_timeout 3s; ssl on; ssl_trusted_certificate @{[$authority->file]};"),
        server => "rate_limit_store main; rate_limit_log_level info; rate_limit_lease @{[LEASE]};"
            . join('', map { "location $_ { rate_limit 1000000r/h name=$modes{$_} mode=$modes{$_}; }" } sort keys %modes),
    );
    my @keys    = RateLimit::Traffic->keys;
    my $traffic = RateLimit::Traffic->start($nginx, connections => 16, uris => [sort keys %modes]);

    my sub back ($what) {
        wait_until {
            my $last  = $traffic->mark;
            my $calls = $primary->calls('evalsha', 'hincrby');
            !grep({ $_->{outcome} ne 'PASSED' } @{$traffic->more(100)->since($last)}) && $primary->calls('evalsha', 'hincrby') > $calls
        } what => "$protocol, $what: the primary to be used again";
        return $traffic->is_served("$protocol, $what", timeout => 1.5);
    }
    my sub noticed ($what, $mark) {
        return is scalar(grep { $_->{wait} >= 1.5 } @{$traffic->since($mark)}), 0, "$protocol, $what: nobody waits for an answer";
    }

    $traffic->more(300)->is_served("$protocol, healthy", timeout => 1.5, passes => 1);
    for my $round (1 .. ROUNDS) {
        my $mark = $traffic->mark;
        $proxy->drop(1);
        $traffic->more(200);
        back("reset, $round");
        noticed("reset, $round", $mark);

        $primary->freeze;
        $nginx->wait_log(qr/(?:primary \S+ of shard "a" of "main" does not serve: no answer in check_timeout.*?){$round}/s);
        $traffic->more(200);
        $primary->thaw;
        back("frozen, $round");

        $mark = $traffic->mark;
        $primary->kill;
        $traffic->more(200);
        $primary->restart;
        back("killed, $round");
        noticed("killed, $round", $mark);
    }
    $traffic->stop;
    $nginx->stop;    # then all requests are in its log
    my %admitted;
    for my $seen (@{$traffic->since(0)}) {
        $admitted{$seen->{uri}}++ if $seen->{status} == 200;
    }
    is $traffic->unanswered, 0, 'every request got a response';
    is $nginx->count_log(qr/were dropped|are lost|could not give back/), 0, 'nothing else was lost';

    my %doubt = (charges => 0, refunds => 0, reservations => 0);
    my $log   = $nginx->error_log;
    $doubt{$2} += $1 while $log =~ /rate limit: (\d+) (charges|refunds|reservations) for \S+ \S+ of "main" were sent and not answered/g;
    my %stored  = map { $_ => sum0($primary->used_of("$modes{$_}/3600", @keys)) } keys %modes;
    diag join '; ', (map { "$modes{$_}: $admitted{$_} admitted, $stored{$_} stored" } sort keys %modes), map { "$_ in doubt: $doubt{$_}" } sort keys %doubt;
    my $missing = sum0(values %doubt);
    for my $uri (sort keys %modes) {
        cmp_ok $stored{$uri}, '>=', $admitted{$uri} - $missing, "$protocol, $modes{$uri}: nothing is missing but what is in doubt";
    }
    cmp_ok $stored{'/c'}, '<=', $admitted{'/c'}, 'check_charge: nothing is charged twice';
    cmp_ok $stored{'/r'}, '<=', $admitted{'/r'} + $doubt{reservations} + $doubt{refunds}, 'charge_refund: nor here, but for what is in doubt';
    cmp_ok $stored{'/l'}, '<=', $admitted{'/l'} + LEASE * ($doubt{reservations} + $doubt{refunds}), 'lease: but for its batches';
}

done;

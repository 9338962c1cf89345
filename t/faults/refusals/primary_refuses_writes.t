# A primary that refuses writes still answers checks. Charges wait, summed, and are delivered once it takes writes
# again, though its connection was lost meanwhile.

use RateLimit::Test;

my %refusal = (
    OOM => [[qw(CONFIG SET maxmemory 1)], [qw(CONFIG SET maxmemory 0)]],
    READONLY => [['REPLICAOF', '127.0.0.1', RateLimit::Port::free_port()], [qw(REPLICAOF NO ONE)]],
);
for my $replicas (0, 1) {
    my $shards = RateLimit::Shards->start(
        1, replicas => $replicas, redis => {args => [qw(--maxmemory-policy noeviction)]});
    my $primary = $shards->primary;
    my $nginx   = RateLimit::Nginx->start(
        http   => $shards->block('main'),
        server => 'location / { rate_limit_key $http_x_key; rate_limit 3r/h name=few store=main; }
            location /many { rate_limit_key $http_x_key; rate_limit 1000r/h name=many store=main;
                rate_limit_on_error deny; }
            location /probe { rate_limit_key $http_x_key; rate_limit 1000r/h name=probe store=main;
                rate_limit_on_error deny; }',
    );
    my $client = $nginx->http;
    my $many   = 0;
    my sub passes ($count) {
        $many += $count;
        my @responses = map { $client->get('/many', 'X-Key' => 'k') } 1 .. $count;
        return is_deeply statuses(@responses), {200 => $count}, "$count requests pass";
    }
    # Tells whether all charges are stored but those that were on their way when their connection was lost, as the log has
    # told.
    my sub all_stored () {
        my ($doubt) = ($nginx->error_log // '') =~ /.*\((\d+) in doubt so far\)/s;
        return $primary->used('k', 'many/3600') == $many - ($doubt // 0);
    }
    my sub over_limit () {
        my @responses = map { $client->get('/x', 'X-Key' => 'over') } 1 .. 10;
        return is_deeply statuses(@responses), {429 => 10}, 'over its limit: rejected';
    }

    for my $n (1 .. 3) {
        is $client->get('/x', 'X-Key' => 'over')->status, 200, "$replicas replicas: $n of 3";
        wait_until { $primary->used('over', 'few/3600') == $n } what => 'the charge';
        $shards->wait_synced;
    }
    passes(2);
    wait_until { $primary->used('k', 'many/3600') == $many } what => 'charges';
    for my $word (sort keys %refusal) {
        my ($refuse, $accept) = @{$refusal{$word}};
        my $before = $primary->used('k', 'many/3600');
        $primary->cmd(@$refuse);
        over_limit();
        passes(5);
        $nginx->wait_log(qr/primary .* refuses charges: $word/i);
        over_limit();
        passes(5);
        wait_until { ($primary->info('errorstats')->{"errorstat_$word"} // '') =~ /=(\d+)/ && $1 >= 3 }
            what => 'more tries';
        # A command that is on its way just then makes the lost connection an outage, which is over in a moment.
        $primary->drop_clients;
        wait_until { $client->get('/probe', 'X-Key' => 'k')->status == 200 } what => 'the node to be up';
        over_limit();
        is $primary->used('k', 'many/3600'), $before, "$word: no charge is taken";
        $primary->cmd(@$accept);
        wait_until { all_stored() } what => 'all that waited';
        passes(3);
        wait_until { all_stored() } what => 'charges to go as before';
    }
    is $nginx->count_log(qr/takes charges again/), keys %refusal, 'the end of each refusal is logged once';
    is $nginx->count_log(qr/does not serve/), 0, 'the node was never given up for its refusals';
    is $nginx->count_log(qr/dropped/), 0, 'nothing is dropped';
    my %lines;
    $lines{$_}++ for $nginx->error_log =~ /^(\S+ \S+) .* refuses charges/mg;
    is_deeply [grep { $_ > 1 } values %lines], [], 'one line a second at most';
    $nginx->stop;
    ok all_stored(), 'every charge once';
    is $primary->used('over', 'few/3600'), 3, 'none for a rejected request';
}

done;

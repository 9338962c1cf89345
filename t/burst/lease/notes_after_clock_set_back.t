# The wall clock is set back while tokens of buckets are noted: what notes them would last until the clock comes there again, and take the room of others.
# It goes at the next look, also while the primary is away and after its store has left the configuration.

use RateLimit::Test;
use JSON::PP;

my @keys   = 1 .. 200;
my $view   = 'location /limits/ { rate_limit off; rate_limit_console view; }';
my $server = "location / { rate_limit 1000r/s burst=20000 store=main; rate_limit_lease 5000; rate_limit_cost \$arg_c; } $view";
my sub config (@blocks) { return join(' ', @blocks) . ' rate_limit_key $arg_k; rate_limit_mode lease; rate_limit_on_error deny;' }
my sub told ($nginx)    { return decode_json($nginx->get('/limits/json')->body) }

# Half of a batch for each of the keys, many at a time, as tokens live for a second.
my sub half ($nginx) { return statuses($nginx->parallel(connections => 50, requests => [map { ["/x?k=$_&c=2500"] } @keys])) }

# Each of the keys has a batch; half of it is spent.
my sub start ($redis, @blocks) {
    my $nginx = RateLimit::Nginx->start(clock => 1, http => config(redis_block('main', $redis), @blocks), server => $server);
    is_deeply half($nginx), {200 => scalar @keys}, 'a batch for each key';
    cmp_ok told($nginx)->{zone}{waiting}{used}, '>=', @keys / 2, 'many are noted';
    return $nginx;
}

# A refund may wait for a primary that was there a moment ago.
my sub notes_go ($nginx) {
    return wait_until { told($nginx)->{zone}{waiting}{used} < @keys / 10 } what => 'the notes to go';
}
# Some notes may be there still.
my sub accounted_for ($nginx) {
    my $leases;
    wait_until {
        $leases = told($nginx)->{stores}[0]{shards}[0]{leases};
        $leases->{spent} + $leases->{lost} + $leases->{returned} == $leases->{fetched}
    } what => 'all tokens to be accounted for';
    pass 'all tokens are accounted for';
    return $leases;
}

subtest 'of tokens that are spent' => sub {
    my $redis = RateLimit::Redis->start;
    my $nginx = start($redis);
    is_deeply half($nginx), {200 => scalar @keys}, 'the second half is spent, too';
    $nginx->travel('-3600');
    notes_go($nginx);
    my $leases = accounted_for($nginx);
    cmp_ok $leases->{spent}, '>=', 5000 * @keys, 'all were spent';
};
subtest 'while the primary is away' => sub {
    my $redis = RateLimit::Redis->start;
    my $nginx = start($redis);
    $redis->kill;
    isnt $nginx->get('/x?k=new&c=1')->status, 200, 'nobody is let in without it';
    $nginx->travel('-3600');
    notes_go($nginx);
    accounted_for($nginx);
};
subtest 'of a store that has left the configuration' => sub {
    my ($redis, $other) = map { RateLimit::Redis->start } 1 .. 2;
    my $nginx = start($redis, redis_block('other', $other));
    $nginx->reload(http => config(redis_block('other', $other)), server => "location / { rate_limit 1000r/s burst=20000 store=other; } $view");
    $nginx->travel('-3600');
    notes_go($nginx);
    pass 'they have gone';
};

done;

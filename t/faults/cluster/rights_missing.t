# Row 30 of the fault matrix. A user without the right to one of the commands that a cluster needs: the log names the command, and
# what can be served is.

use RateLimit::Test;

my $rights  = '~rl:* -@all +hmget +hget +hset +hincrby +pttl +pexpire +del +hlen +evalsha +eval +script|load +ping +info +auth';
my %lacking = (
    cluster  => [ '+readonly +asking',       qr/does not tell its map: .* refuses it .*CLUSTER SLOTS.*NOPERM/ ],
    readonly => [ '+asking +cluster|slots',  qr/replica .* is down: .*READONLY.*NOPERM/ ],
    asking   => [ '+readonly +cluster|slots', qr/answered ASKING: .*NOPERM/ ],
);
my $cluster = RateLimit::Cluster->start(redis => {acl => [
    'user default on nopass ~* &* +@all', map { "user no$_ on >secret $rights $lacking{$_}[0]" } sort keys %lacking]});
for my $command (sort keys %lacking) {
    my $nginx = RateLimit::Nginx->start(
        http   => $cluster->block('main', "username no$command; password secret; " . timeouts('9s')),
        server => "rate_limit_key \$arg_k; rate_limit_store main; rate_limit_on_error deny;
            location / { rate_limit 1000r/d name=$command; } location /reserve { rate_limit 1000r/d name=r$command mode=charge_refund; }",
    );
    my $client = $nginx->http;
    if ($command eq 'cluster') {
        is $client->get('/?k=1')->status, 503, 'without the map nobody can be asked';
        $nginx->wait_log($lacking{$command}[1]);
        next;
    }
    wait_until { $client->get('/reserve?k=first')->status == 200 } what => 'the map';
    if ($command eq 'asking') {
        my $slot = $cluster->slot_of('rl:rasking/86400:moving');
        my $from = $cluster->node_of($slot);
        my ($to) = grep { $_ != $from } $cluster->primaries;
        $cluster->begin_migration($from, $to, $slot);
        my $begun = monotonic();
        is $client->get('/reserve?k=moving')->status, 503, 'a key of the slot that moves cannot be asked for';
        cmp_ok monotonic() - $begun, '<', patience(2), '... which takes no time';
    }
    is scalar(grep { $client->get("/?k=$_")->status == 200 } 1 .. 20), 20, "without $command others pass";
    $nginx->wait_log($lacking{$command}[1]);
    ok 1, "the log names $command";
    wait_until { 20 == sum0 map { $cluster->used($_, "$command/86400") } 1 .. 20 } what => 'the charges';
}

done;

# Row 30 of the fault matrix. A user that lacks one of the rights that docs/redis.md adds for a cluster: the log names the command, and
# what can be served is. Without READWRITE all is. The scripts of one node are flushed: nobody notices.

use RateLimit::Test;

my %named = (
    'cluster|slots' => qr/does not tell its map: .* refuses it .*CLUSTER SLOTS.*NOPERM/,
    readonly        => qr/replica .* is down: .*READONLY.*NOPERM/,
    asking          => qr/answered ASKING: .*NOPERM/,
    readwrite       => undef,
);
my $document = project_file('docs/redis.md');
my ($rights) = code($document, 'acl') =~ /^user nginx (.*)$/m;
my @more     = code($document, 'acl in a cluster') =~ /\+([\w|]+)/g;
is_deeply [sort @more], [sort keys %named], 'these are the rights';
my sub user ($lacking) { return 'no-' . $lacking =~ s/\W.*//r }
my sub acl ($lacking) { return join ' ', 'user', user($lacking), $rights, map { "+$_" } grep { $_ ne $lacking } @more }
my $cluster = RateLimit::Cluster->start(node_timeout => 15_000, redis => {acl => ['user default on nopass ~* &* +@all', map { acl($_) } @more]});
my sub refused ($node, $user) {
    return map { $_->{object} } grep { $_->{username} eq $user } map { {@$_} } @{$node->cmd('ACL', 'LOG')};
}
my sub start ($name, $login) {
    return RateLimit::Nginx->start(
        http   => $cluster->block('main', "$login fresh off; " . timeouts('9s')),
        server => "rate_limit_key \$arg_k; rate_limit_store main; rate_limit_on_error deny;
            location / { rate_limit 1000r/d name=$name; } location /reserve { rate_limit 1000r/d name=r-$name mode=charge_refund; }",
    );
}
for my $command (sort @more) {
    my $name = user($command);
    my $nginx = start($name, "username $name; password secret;");
    my $client = $nginx->http;
    if ($command eq 'cluster|slots') {
        is $client->get('/?k=1')->status, 503, 'without the map nobody can be asked';
        $nginx->wait_log($named{$command});
        next;
    }
    wait_until { $client->get('/reserve?k=first')->status == 200 } what => 'the map';
    if ($command eq 'asking') {
        my $slot = $cluster->slot_of("rl:r-$name/86400:moving");
        my $from = $cluster->node_of($slot);
        my ($to) = grep { $_ != $from } $cluster->primaries;
        $cluster->begin_migration($from, $to, $slot);
        my $begun = monotonic();
        is $client->get('/reserve?k=moving')->status, 503, 'a key of the slot that moves cannot be asked for';
        cmp_ok monotonic() - $begun, '<', patience(2), '... which takes no time';
    }
    my ($replica) = $cluster->replicas_of("rl:$name/86400:promoted");
    if ($command eq 'readwrite') {
        $replica->forget_calls;
        wait_until { $client->get('/?k=promoted')->status == 200 && $replica->calls('hmget') } what => 'a replica to be asked';
        $cluster->failover($replica);
        is $client->get('/reserve?k=promoted')->status, 200, 'a key of a replica that has become the primary';
    }
    is scalar(grep { $client->get("/?k=$_")->status == 200 } 1 .. 20), 20, "without $command others pass";
    if ($named{$command}) {
        $nginx->wait_log($named{$command});
        ok 1, "the log names $command";
    } else {
        wait_until { refused($replica, $name) } what => 'the command that is not allowed';
        is_deeply [grep { $_ ne $command } map { refused($_, $name) } $cluster->nodes], [], "nothing but $command is refused";
        is $nginx->count_log(qr/NOPERM|is down|refuses/), 0, 'nothing is logged';
    }
    wait_until { 20 == sum0 map { $cluster->used($_, "$name/86400") } 1 .. 20 } what => 'the charges';
}

my $nginx  = start('flushed', '');
my $client = $nginx->http;
my sub all_pass (@keys) { return 2 * @keys == grep { $client->get("$_->[0]?k=$_->[1]")->status == 200 } map { (['/', $_], ['/reserve', $_]) } @keys }
wait_until { $client->get('/reserve?k=first')->status == 200 } what => 'the map';
ok all_pass(1 .. 20), 'all pass';
$cluster->primary_of('rl:flushed/86400:1')->cmd('SCRIPT', 'FLUSH');
ok all_pass(21 .. 40), 'all pass after scripts were flushed';
wait_until { 40 == sum0 map { $cluster->used($_, 'flushed/86400') } 1 .. 40 } what => 'the charges';
is sum0(map { $cluster->used($_, 'r-flushed/86400') } 1 .. 40), 40, 'the reservations are stored';
is $nginx->count_log(qr/in doubt|were dropped|refuses charges|is down|does not serve/), 0, 'nothing went wrong';

done;

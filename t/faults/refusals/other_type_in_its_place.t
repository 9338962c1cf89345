# A key of another type in the place of a window, a bucket or slots blocks nobody and spares nobody: it is taken for none, and the next charge or reservation puts
# there what belongs there, also where a plain command finds it. For each type, each kind of limit and each rate_limit_on_error, at one primary and in a cluster.
# The log says each once, and a refund leaves it alone.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $replica = RateLimit::Redis->start(replica_of => $redis);
my $cluster = RateLimit::Cluster->start(node_timeout => 15_000);
my $backend = RateLimit::Backend->start;
# Each store has the primary and the replicas of a key, and the values of rate_limit_on_error that are tried there.
my %places = (
    main  => [sub ($) { ($redis, $replica) }, qw(allow deny local)],
    fleet => [sub ($key) { ($cluster->primary_of($key), $cluster->replicas_of($key)) }, 'deny'],
);
# Each kind has its line, the end of its keys, their type, the script that writes it, and whether requests ask Redis anew when the key is
# known there.
my %kinds = (
    window => ['rate_limit 1000r/h',                     '3600',  'hash',   'charge',  1],
    refund => ['rate_limit 1000r/h mode=charge_refund',  '3600',  'hash',   'reserve', 1],
    lease  => ['rate_limit 1000r/h mode=lease',          '3600',  'hash',   'reserve', 0],
    bucket => ['rate_limit 1r/h burst=1000',             '3600b', 'string', 'bucket',  1],
    tokens => ['rate_limit 1r/h burst=1000 mode=lease',  '3600b', 'string', 'bucket',  0],
    slots  => ['rate_limit_concurrency 1000',            'n',     'hash',   'hold',    0],
);
my %held = (
    hash => sub ($key) { ['HSET', $key, 'foo', 1] }, string => sub ($key) { ['SET', $key, '12'] }, list => sub ($key) { ['RPUSH', $key, 1] },
    set  => sub ($key) { ['SADD', $key, 'used'] }, zset => sub ($key) { ['ZADD', $key, 1, 'used'] }, stream => sub ($key) { ['XADD', $key, '*', 'used', 1] },
);
my sub limit_of ($kind, $store, $more = '') { return "$kinds{$kind}[0] name=$kind store=$store; $more" }
my $nginx = RateLimit::Nginx->start(
    up   => $backend,
    http => redis_block('main', [$redis, $replica], timeouts('9s')) . redis_block('alone', $redis, timeouts('9s') . ' prefix alone:;') . $cluster->block('fleet')
        . 'rate_limit_key $arg_k; add_header X-Outcome $rate_limit_status always;',
    server => join "\n", map {
        my $kind = $_;
        ("location /once-$kind { " . limit_of($kind, 'alone') . '}', map {
            my ($store, undef, @on_error) = ($_, @{$places{$_}});
            ("location /free-$kind-$store { " . limit_of($kind, $store, 'proxy_pass http://%%UP%%;') . '}',
                map { "location /$kind-$store-$_ { " . limit_of($kind, $store, "rate_limit_on_error $_;") . '}' } @on_error)
        } sort keys %places)
    } sort keys %kinds,
);
my $before_map = 0;
wait_until { $nginx->get('/bucket-fleet-deny?k=map')->status == 200 or !++$before_map } timeout => 20, what => 'the map of the cluster';

my sub put ($type, $key, $primary, @replicas) {
    $primary->cmd('DEL', $key);
    $primary->cmd(@{$held{$type}->($key)});
    for my $other (@replicas) {
        $other->cmd('READONLY') if $other != $replica;
        wait_until { $other->cmd('TYPE', $key) eq $type } what => 'the replica to have it';
    }
    return;
}
# Slots that have gone back leave no key.
my sub gives_way ($kind, $type, $key, $primary, $what) {
    wait_until { $primary->cmd('TYPE', $key) =~ /^(?:$kinds{$kind}[2]|none)$/ } what => "$what to give way";
    my $now = $primary->cmd('TYPE', $key);
    ok $kind eq 'slots' || $primary->cmd('PTTL', $key) > 0, "$what: what belongs there takes its place" or diag $now;
    return;
}

for my $store (sort keys %places) {
    my ($nodes) = @{$places{$store}};
    for my $kind (qw(refund bucket)) {
        for my $type (grep { $_ ne $kinds{$kind}[2] } sort keys %held) {
            my $key    = "rl:$kind/$kinds{$kind}[1]:free-$type";
            my ($node) = $nodes->($key);
            my $open   = $nginx->reach($backend, "/free-$kind-$store/slow/304?k=free-$type");
            $node->cmd('DEL', $key);
            $node->cmd(@{$held{$type}->($key)});
            my $before = $node->cmd('DUMP', $key);
            $node->forget_calls;
            $backend->release('gate');
            is $open->response->status, 304, "$store: a refund to a $kind that is a $type by now";
            wait_until { $node->script_calls } what => 'it to come';
            ok $node->cmd('DUMP', $key) eq $before, '... changes nothing';
        }
    }
}
is $nginx->count_log(qr/wrongtype/), 0, '... and so there is nothing to say';

for my $store (sort keys %places) {
    my ($nodes, @on_error) = @{$places{$store}};
    for my $kind (sort keys %kinds) {
        my (undef, $suffix, $own, undef, $asks) = @{$kinds{$kind}};
        for my $type (grep { $_ ne $own } sort keys %held) {
            for my $on_error (@on_error) {
                my ($client, $what) = ("$type-$on_error", "$store: $kind, $type, $on_error");
                my $key   = "rl:$kind/$suffix:$client";
                my @nodes = $nodes->($key);
                my sub ask () { return outcome($nginx->get("/$kind-$store-$on_error?k=$client")) }
                put($type, $key, @nodes);
                is ask(), '200 PASSED', "$what: a request passes";
                gives_way($kind, $type, $key, $nodes[0], $what);
                is ask(), '200 PASSED', "$what: another" for 1 .. 3;
                next if !$asks;
                wait_until { ($nodes[0]->hash($key)->{used} // 0) >= 4 } what => 'their charges' if $own eq 'hash';
                put($type, $key, @nodes);
                is ask(), '200 PASSED', "$what: and where it was known" for 1 .. 2;
                gives_way($kind, $type, $key, $nodes[0], "$what, known");
            }
        }
    }
}

my $begins = qr/\[error\] .*rate limit: primary \S+ of shard "a" of "alone" answered /;
my $ends   = qr/\.lua: wrongtype: the key holds something else, which a charge or reservation replaces; is the prefix used by others\?/;
my sub told () { return sum0(map { /\((\d+) such answers/ ? $1 : 1 } grep { /of "alone" answered/ } split /\n/, $nginx->error_log) }
my $told = 0;
for my $kind (sort keys %kinds) {
    my (undef, $suffix, $own, $script) = @{$kinds{$kind}};
    my $key = "alone:$kind/$suffix:once";
    $redis->cmd(@{$held{$own eq 'hash' ? 'list' : 'set'}->($key)});
    my $lines = $nginx->count_log($begins);
    $nginx->get("/once-$kind?k=once") for 1 .. 3;
    gives_way($kind, 'set', $key, $redis, "$kind, once");
    wait_until { told() > $told } what => 'it to be told';
    like((grep { /$begins/ } split /\n/, $nginx->error_log)[$lines], qr/$begins$script$ends/, '... and the log says by whom');
    is told(), ++$told, '... once';
}
$nginx->stop;
is told(), $told, 'each is told once';
my $unchecked = sum0(map { /\((\d+) requests since/ ? $1 : 1 } grep { /could not be checked/ } split /\n/, $nginx->error_log);
is $unchecked, $before_map, 'nothing went unchecked once the map was known';
is $nginx->count_log(qr/dropped/), 0, '... nor uncharged';

done;

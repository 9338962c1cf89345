# A Redis Cluster in a rate_limit_redis block: what it takes, and what it refuses with which remedy.

use RateLimit::Test;

my $server  = 'server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=main; }';
my $cluster = 'cluster 127.0.0.1:1';

for my $text ($cluster, 'cluster 127.0.0.1 127.0.0.2:7000 [::1]:1', "$cluster; cluster 127.0.0.2:1", "$cluster; database 0",
    "$cluster; username u; password p; prefix \"a{}b\"; check_timeout 20ms") {
    accepts_quietly("rate_limit_redis main { $text; } $server", $text);
}

# Each entry has the wrong line, the place that the error names, and the error that nginx reports.
my @bad = (
    ['cluster', 'cluster', qr/"cluster" needs an address: cluster HOST:PORT …/],
    ["$cluster; cluster 127.0.0.2:1 127.0.0.1:1", '127.0.0.2:1', qr/duplicate address "127.0.0.1:1" of "cluster": name each once/],
    ['cluster 127.0.0.1:x', 'cluster', qr/ in the address "127.0.0.1:x" of "cluster": write HOST:PORT/],
    ["$cluster; shard a primary=127.0.0.1:2", '}',
        qr/"rate_limit_redis main" has both "cluster" and "shard": a cluster itself says which nodes it has; keep one of them/],
    ["$cluster; sentinel 127.0.0.1:2", '}', qr/"rate_limit_redis main" has both "cluster" and "sentinel"/],
    ["$cluster; database 1", '}', qr/"rate_limit_redis main" has both "cluster" and "database": a cluster has one database; remove "database"/],
    ["$cluster; sentinel_password x", '}', qr/has a name or a password for sentinels, and no "sentinel"/],
);
for my $case (@bad) {
    my ($text, $at, $pattern) = @$case;
    refuses("rate_limit_redis main { $text; } $server", $at, $pattern, $text);
}

warns("rate_limit_redis main { $cluster; prefix \"{x}:\"; } $server", '}', qr/"prefix \{x\}:" has a hash tag: all windows of "rate_limit_redis main" get one slot/);

done;

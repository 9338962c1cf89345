# Sentinel in a rate_limit_redis block: what it takes, and what it refuses with which remedy.

use RateLimit::Test;

my $folder = test_folder();
write_text("$folder/secret", "s3cret\n");
my $server = 'server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=main; }';
my $shard  = 'shard a master=mymaster';
my $both   = "sentinel 127.0.0.1:1; $shard";

my @good = (
    $both,
    'shard a master=m weight=3; sentinel 127.0.0.1 127.0.0.2 [::1]:1; shard b weight=2 master=other-M_1.0',
    "$both; sentinel 127.0.0.2:1; sentinel 127.0.0.1:2",
    "$both; sentinel_password word",
    "$both; sentinel_username u; sentinel_password file:$folder/secret; password x; username y; database 2",
    'shard a master=' . 'm' x 128 . '; sentinel 127.0.0.1:1',
);
for my $text (@good) {
    accepts_quietly("rate_limit_redis main { $text; } $server", $text);
}

# Each entry has the wrong line, the place that the error names, and the error that nginx reports.
my @bad = (
    [$shard, '}', qr/"rate_limit_redis main" has "master=" and no sentinels to ask for it: add "sentinel HOST:PORT …"/],
    ['sentinel 127.0.0.1:1', '}', qr/"rate_limit_redis main" has no shard: add "shard NAME master=MASTER"/],
    ['sentinel 127.0.0.1:1; shard a', 'shard a', qr/"shard" needs a name and a primary: shard NAME master=MASTER in /],
    ['sentinel 127.0.0.1:1; shard a weight=2', 'shard a',
        qr/shard "a" has no primary: add master=MASTER in /],
    ['shard a weight=2; sentinel 127.0.0.1:1', 'shard a', qr/shard "a" has no primary: add primary=HOST:PORT; or, with "sentinel", master=MASTER in /],
    ['shard a primary=127.0.0.1:2; sentinel 127.0.0.1:1', '}',
        qr/has "sentinel", and its shards have addresses: write "shard NAME master=MASTER", or remove "sentinel"/],
    ["$both; shard b primary=127.0.0.1:2", 'shard b',
        qr/shard "b" has addresses and shard "a" has "master=": in one "rate_limit_redis" all shards have the one or the other; put them into two/],
    ["$both primary=127.0.0.1:2", 'shard a',
        qr/shard "a" has both "master=" and addresses: the sentinels tell the addresses; keep "master=mymaster"/],
    ["$both replica=127.0.0.1:2", 'shard a', qr/shard "a" has both "master=" and addresses/],
    ["$both master=other", 'shard a',
        qr/unknown or repeated parameter "master=other" of shard "a": .* or, with "sentinel", one master= and weight=/],
    (map { ["shard a master=$_", 'shard a',
        qr/invalid "master=.*" of shard "a": it is the name that the sentinels have for the master, 1 to 128 of A-Z a-z 0-9 _ \. -/] }
        '', 'a/b', 'm' x 129, '$host'),
    ['sentinel', 'sentinel', qr/"sentinel" needs an address: sentinel HOST:PORT …/],
    ["$both; sentinel 127.0.0.1:2 127.0.0.1:1", '127.0.0.1:2', qr/duplicate address "127.0.0.1:1" of "sentinel": name each once/],
    (map { ["sentinel $_; $shard", 'sentinel', qr/ in the address ".*" of "sentinel": write HOST:PORT/] }
        '127.0.0.1:x', ':26379', '[::1'),
    ["sentinel redis://127.0.0.1:1; $shard", 'sentinel', qr/the address of "sentinel" is no URL: write 127.0.0.1:1/],
    ["$both; sentinel_username u", '}', qr/has a "sentinel_username" but no "sentinel_password": add one/],
    (map { ["shard a primary=127.0.0.1:1; sentinel_$_ x", '}',
        qr/has a name or a password for sentinels, and no "sentinel": add "sentinel HOST:PORT …", or remove the line/] }
        'username', 'password'),
    ["$both; sentinel_password a; sentinel_password b", 'sentinel_password b',
        qr/duplicate "sentinel_password" in "rate_limit_redis": keep one/],
    ["$both; sentinel_password file:$folder/missing", 'sentinel_password',
        qr/"sentinel_password": the file ".*missing" cannot be read: give .*No such file/],
);
for my $case (@bad) {
    my ($text, $at, $pattern) = @$case;
    refuses("rate_limit_redis main { $text; } $server", $at, $pattern, $text);
}

warns("rate_limit_redis main { $both; shard b master=mymaster; } $server", 'shard b',
    qr/shard "b" has the master of shard "a", "mymaster": both are one server; give each a master of its own, or keep one of them/);
my $other = 'rate_limit_redis other { sentinel 127.0.0.2:1 127.0.0.1:1; shard x master=mymaster; }';
warns("rate_limit_redis main { $both; } $other server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=main; rate_limit 1r/m store=other name=o; }", 'rate_limit_redis other',
    qr/"rate_limit_redis other" .* has a primary, the database and the prefix of "rate_limit_redis main"/);

done;

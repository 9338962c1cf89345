# The regions of a rate_limit_redis block, and the limits that cannot count in them.

use RateLimit::Test;

my $eu = 'region eu { shard a primary=127.0.0.1:1; }';
my $us = 'region us { shard a replica=127.0.0.1:2; }';

sub test_config { return RateLimit::Nginx->test_config(@_) }

for (
    [ 'here eu;', qr/"rate_limit_redis main" has "here eu" and no regions: add "region eu \{ shard … \}"/ ],
    [ "$eu $us", qr/"rate_limit_redis main" has regions, and none is here: add "here eu", or the other one, if this machine stands there in .*nginx\.conf:\d+/ ],
    [ "$eu $us here asia;", qr/"here asia" names no region of "rate_limit_redis main": add "region asia/ ],
    [ "$eu here eu;", qr/"rate_limit_redis main" has no region but "here eu": add the other ones/ ],
    [ "$eu $eu here eu;", qr/duplicate "region eu": every region needs a name of its own/ ],
    [ "$eu $us here eu; here eu;", qr/duplicate "here"/ ],
    [ "$eu $us here eu; shard b primary=127.0.0.1:3;", qr/has regions, and "shard" outside of them: move it into its "region"/ ],
    [ "$eu $us here eu; cluster 127.0.0.1:3;", qr/has regions, and "cluster" outside of them: a cluster cannot be read so/ ],
    [ "$eu region us { cluster 127.0.0.1:3; } here eu;", qr/"cluster" in "region us": a cluster cannot be read so; name its shards by "shard" in .*nginx\.conf:\d+/ ],
    [ "$eu region us { check_timeout 1s; } here eu;", qr/"check_timeout" in "region us" holds for all regions: move it behind the "\}" of the region/ ],
    [ "$eu region us { here eu; } here eu;", qr/"here" in "region us": end that region by "\}" before/ ],
    [ "$eu region us { $us } here eu;", qr/"region" in "region us": end that region/ ],
    [ "$eu region us { foo; } here eu;", qr/unknown directive "foo" in "region us": it takes shard, sentinel and include/ ],
    [ "$eu region us { shard a; } here eu;", qr/"shard" needs a name and a primary: shard NAME primary=HOST:PORT in the region here, else replica=HOST:PORT/ ],
    [ "region eu { sentinel 127.0.0.1:9; shard a master=m; shard b replica=127.0.0.1:2; } $us here eu;", qr/shard "b" has addresses and shard "a" has "master=": in one "region" all/ ],
    [ "$eu region us { sentinel 127.0.0.1:9; shard a master=m; } region asia { sentinel 127.0.0.1:9; shard a master=m; } here eu;",
        qr/"region asia" has a master that "region us" has, of the same sentinels: give it a master of its own/ ],
    [ "$eu region us { shard b replica=127.0.0.1:2; } here eu;", qr/the shards of "region us" are not those of "here eu": give all regions shards of the same names and weights in .*nginx\.conf:\d+/ ],
    [ "$eu region us { shard a replica=127.0.0.1:2 weight=2; } here eu;", qr/the shards of "region us" are not those of "here eu"/ ],
    [ "$eu region us { shard a replica=127.0.0.1:2; shard b replica=127.0.0.1:3; } here eu;", qr/the shards of "region us" are not those/ ],
    [ "$eu region us { } here eu;", qr/"region us" has no shard: add those that the other regions have/ ],
    [ "$eu region us { shard a primary=127.0.0.1:2; } here eu;", qr/shard "a" of "region us" has "primary=", and only primaries of "here eu" are written: name a replica/ ],
    [ "$eu region us { shard a weight=1; } here eu;", qr/shard "a" of "region us" has no replica: add "replica=HOST:PORT"/ ],
    [ "$eu $us here us;", qr/shard "a" of "region eu" has "primary="/ ],
    [ 'region eu { shard a replica=127.0.0.1:1; } region us { shard a replica=127.0.0.1:2; } here eu;', qr/shard "a" of "region eu" has no primary, and that region is "here": add "primary=HOST:PORT"/ ],
    [ "$eu region us { shard a master=m; } here eu;", qr/"region us" has "master=" and no sentinels to ask for it/ ],
    [ "$eu region us { sentinel 127.0.0.1:9; shard a replica=127.0.0.1:2; } here eu;", qr/"region us" has "sentinel", and its shards have addresses/ ],
    [ "$eu region us { shard a replica=127.0.0.1:1; } here eu;", qr/"127\.0\.0\.1:1" of "region us" is a server of "region eu", too/ ],
    [ "$eu region { shard a replica=127.0.0.1:1; } here eu;", qr/"region" takes a name and a block/ ],
    [ "$eu region us; here eu;", qr/directive "region" has no opening "\{"/ ],
) {
    my ($block, $told) = @$_;
    my ($code, $output) = test_config("rate_limit_redis main { $block }");
    is $code, 1, "refused: $block";
    like $output, $told, '... with its remedy';
}

my $regions = "rate_limit_redis main { $eu $us region asia { sentinel 127.0.0.1:9; shard a master=m; } here eu; }";
for (
    [ 'rate_limit 1r/s window=clock store=main;' ],
    [ 'rate_limit 1r/d window=local store=main;' ],
    [ 'rate_limit 1r/s store=main;', qr/"rate_limit" counts in "rate_limit_redis main", which has regions, and has windows that open with the first request.*write "window=clock".* in .*nginx\.conf:\d+/ ],
    [ 'rate_limit 1r/s store=main burst=5;', qr/has "burst=".*write "window=clock"/ ],
    [ 'rate_limit 1r/s store=main burst=$arg_burst;', qr/has "burst="/ ],
    [ 'rate_limit 1r/s window=clock store=main mode=lease;', qr/is charged before the request.*write "mode=check_charge"/ ],
    [ 'rate_limit_mode charge_refund; rate_limit 1r/s window=clock store=main;', qr/is charged before the request/ ],
    [ 'rate_limit_mode lease; rate_limit 1r/s window=clock store=main mode=check_charge;' ],
    [ 'rate_limit 1r/s window=clock store=main penalty=1m;', qr/has "penalty="/ ],
    [ 'rate_limit 1r/s window=clock store=main reserve=5;', qr/"reserve=" is charged before the request/ ],
    [ 'rate_limit_store main; rate_limit_concurrency 5;', qr/counts requests that run.*"store=local"/ ],
    [ 'rate_limit 1r/s window=clock store=main/us;', qr/unknown store "main\/us"/ ],
) {
    my ($line, $told) = @$_;
    my ($code, $output) = test_config("$regions rate_limit_key \$arg_k; server { location / { $line } }");
    is $code, $told ? 1 : 0, ($told ? 'refused' : 'taken') . ": $line" or diag $output;
    like $output, $told, '... with its remedy' if $told;
}

# What is told of servers holds for those of all regions, and what is told of a block once.
sub warnings ($block) {
    my ($code, $output) = test_config("rate_limit_redis main { $block here eu; } rate_limit_key \$arg_k;
        server { location / { rate_limit 1r/s window=clock store=main; } }");
    is $code, 0, "taken: $block" or diag $output;
    return grep { /^nginx: \[warn\]/ } split /\n/, $output;
}
is_deeply [ warnings("$eu $us") ], [], 'nothing is told of addresses';
my @names = warnings('region eu { shard a primary=localhost:1; } region us { shard a replica=localhost:2; } region asia { shard a replica=localhost:3; }');
is scalar @names, 1, 'one line for the names of all regions';
is_deeply [ warnings("$eu region us { sentinel 127.0.0.1:9; shard a master=us; } region asia { sentinel 127.0.0.1:9; shard a master=asia; }") ], [],
    'the same sentinels may watch the masters of several regions';
like $names[0], qr/the host names of "rate_limit_redis main" in .* are resolved only now/, '... that names the block';
like join("\n", warnings("$eu region us { shard a replica=localhost:2; }")), qr/the host names of "rate_limit_redis main" in/, '... also where none is here';
my @clear = grep { /"ssl on" does not hold for "unix:/ } warnings("$eu region us { shard a replica=unix:/tmp/r.sock; } ssl on;");
is scalar @clear, 1, 'one line for a unix socket of another region under "ssl on"';

done;

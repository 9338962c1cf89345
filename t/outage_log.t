#!/usr/bin/env perl

# An outage of three seconds leaves about one line a second and node in the error log, whatever the traffic.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main'),
    server => 'keepalive_requests 1000000; '
        . 'location / { rate_limit_key $http_x_key; rate_limit 100r/h store=main; }',
);
my $client = $nginx->http;
is $client->get('/x', 'X-Key' => 'k')->status, 200, 'healthy';
wait_until { () = $shards->primary->keys } what => 'the charge';
$_->kill for $shards->all;
my $end = monotonic() + 3;
my ($requests, $passed) = (0, 0);
while (monotonic() < $end) {
    $requests++;
    $passed++ if $client->get('/x', 'X-Key' => $requests)->status == 200;
}
is $passed, $requests, "$requests requests pass";
for my $redis ($shards->all) {
    my $lines = $nginx->count_log(qr/\Q@{[$redis->address]}\E of shard "a" of "main" is down/);
    cmp_ok $lines, '>=', 2, "$lines lines of an outage";
    cmp_ok $lines, '<=', 4, 'one a second';
    my ($tries, $more) = ($lines, qr/\Q@{[$redis->address]}\E of shard .* \((\d+) more since/);
    $tries += $_ for $nginx->error_log =~ /$more/g;
    cmp_ok $tries, '>=', 4,  "$tries tries: soon at first";
    cmp_ok $tries, '<=', 10, 'then further and further apart';
}
cmp_ok $nginx->count_log(qr/could not be checked/), '<=', 4, 'and of checks that failed';
cmp_ok $nginx->count_log(qr/\[(?:error|warn|crit|alert)\]/), '<=', 13, 'no other lines';
like $nginx->error_log, qr/is down: .* \([1-9]\d* more since the last such line\)/,
    'those not written are counted';

done;

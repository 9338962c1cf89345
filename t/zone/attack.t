# Throw-away keys do not free a client from its limit. Up to three quarters of what the zone holds they cost nobody
# a count; far above that they still push out each other, not clients that are at a limit or have used more of one.

use RateLimit::Test;

# In a zone of 1m: three quarters of it are for windows, in sets of 1600 bytes that hold 23.
my $room  = int(0.75 * 1_048_576 / 1600) * 23;
my $nginx = RateLimit::Nginx->start(
    workers   => 2,
    log_level => 'notice',
    http      => 'rate_limit_zone 1m; rate_limit_key $http_x_key; rate_limit_on_error deny; rate_limit_log_level info;
        keepalive_requests 1000000;',
    server => 'location / { rate_limit 10r/h; }
        location /before/ { alias %%DIR%%/html/; rate_limit 10r/h name=before mode=charge_refund; }
        location /look/ { alias %%DIR%%/html/; rate_limit 10r/h cost=0; }
        location /look-before/ { alias %%DIR%%/html/; rate_limit 10r/h name=before mode=charge_refund cost=0; }',
);

sub flood ($uri, @keys) { return $nginx->parallel(connections => 20, requests => [map { [$uri, 'X-Key' => $_] } @keys]) }
sub throw_away ($uri, $from, $to) { return statuses(flood($uri, map { "away $_" } $from + 1 .. $to)) }
sub shown ($uri, @keys) { return [map { limits($_)->{used} } flood($uri, @keys)] }

my @live     = map { "live $_" } 0 .. 199;
my @expected = map { 1 + $_ % 9 } 0 .. 199;     # the first of nine has used as much as a throw-away key
my %look     = ('/x' => '/look/x', '/before/x' => '/look-before/x');
for my $uri (sort keys %look) {
    flood($uri, map { ($live[$_]) x $expected[$_] } 0 .. 199);
    is_deeply statuses(flood($uri, ('client') x 20)), {200 => 10, 429 => 10}, "$uri: a client comes to its limit";
}

my $quarters = int($room * 3 / 8) - 201;        # for each of two limits
for my $uri (sort keys %look) {
    is_deeply throw_away($uri, 0, $quarters), {200 => $quarters}, "$uri: throw-away keys pass";
}
for my $uri (sort keys %look) {
    is_deeply statuses(flood($uri, ('client') x 20)), {429 => 20}, "$uri: the client does not";
    is_deeply shown($look{$uri}, @live), \@expected, "$uri: the counts of others are as before";
    my @sample = map { 'away ' . (1 + 20 * $_) } 0 .. $quarters / 20 - 1;
    is_deeply shown($look{$uri}, @sample), [(1) x @sample], "$uri: also those of the keys themselves";
}

is_deeply throw_away('/x', $quarters, $quarters + 2 * $room), {200 => 2 * $room}, 'far more of them pass, too';
my @more = grep { $expected[$_] > 1 } 0 .. $#live;
for my $uri (sort keys %look) {
    is_deeply statuses(flood($uri, ('client') x 20)), {429 => 20}, "$uri: the client still does not";
    is_deeply shown($look{$uri}, @live[@more]), [@expected[@more]],
        "$uri: nor are others forgotten who used more than they";
}
is $nginx->count_log(qr/no room/), 0, 'there was room for each';

done;

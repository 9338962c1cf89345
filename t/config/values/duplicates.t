# Duplicates are refused: directives of one level, parameters of one line, and limits of one window.

use RateLimit::Test;

my %two = (
    rate_limit_key => ['a', 'b'], rate_limit_store => ['a', 'b'], rate_limit_mode => ['check_charge', 'check_charge'],
    rate_limit_phase => ['access', 'precontent'], rate_limit_cost => ['1', '2'], rate_limit_lease => ['auto', '1'],
    rate_limit_exempt_status => ['304', 'off'], rate_limit_dry_run => ['on', 'off'], rate_limit_status => ['429', '430'],
    rate_limit_bypass => ['$arg_a', '$arg_b'], rate_limit_headers => ['github', 'ietf'],
    rate_limit_log_level => ['warn', 'error'], rate_limit_on_error => ['allow', 'deny'],
    rate_limit_error_status => ['503', '504'], rate_limit_ipv6_prefix => ['64', '48'], rate_limit_ipv4_prefix => ['32', '24'],
);
for my $directive (sort keys %two) {
    my ($first, $second) = @{$two{$directive}};
    refuses("$directive $first; $directive $second;", "$directive $second",
        qr/"$directive" directive is duplicate, keep only one of them in/);
}

my %parameter = (
    name => ['a', 'b'], key => ['a', 'b'], window => ['first', 'first'], store => ['main', 'main'],
    mode => ['check_charge', 'check_charge'], phase => ['access', 'access'], cost => ['1', '2'], reserve => ['1', '2'], exempt => ['304', 'off'], jitter => ['5s', '1m'], penalty => ['5s', '1m'],
    dry_run => ['on', 'off'], status => ['429', '503'], headers => ['on', 'off'],
);
for my $name (sort keys %parameter) {
    my ($first, $second) = @{$parameter{$name}};
    my $text = "rate_limit 1r/s $name=$first $name=$second";
    refuses("$text;", $text, qr/duplicate parameter "$name=\Q$second\E" in "rate_limit": keep one/);
}

for my $pair (['rate_limit off', 'rate_limit 1r/s'], ['rate_limit 1r/s', 'rate_limit off'], ['rate_limit off', 'rate_limit off']) {
    refuses("$pair->[0]; $pair->[1];", $pair->[1], qr/"rate_limit off" stands beside another "rate_limit" of the same block: keep one/);
}

# Two limits of one window, in a location and in a server.
my $store = 'rate_limit_redis main { shard a primary=127.0.0.1:1; } rate_limit_redis other { shard a primary=127.0.0.1:1; }';
my $given = 'rate_limit_key $arg_k; rate_limit_store main;';
my $window = qr/"rate_limit" in \S+ names the same window as the one in \S+: give one of them another "name="/;
my @same = (
    ['1r/s', '2r/s'], ['1r/m', '2r/60s'], ['1r/s name=x', '5r/s name=x'], ['1r/s', '2r/s name=default'],
    ['1r/s', '2r/s key=$arg_k'], ['1r/s', '2r/s store=main'], ['$arg_r', '$arg_r'],
    ['1r/s', '2r/s cost=2 exempt=off dry_run=on phase=precontent'], ['1r/s window=clock', '2r/s window=clock'],
);
for my $pair (@same) {
    my ($first, $second) = map { "rate_limit $_" } @$pair;
    refuses("$store $given server { listen unix:%%DIR%%/socket; location / { $first; $second; } }", $second, $window, "$first; $second");
}
refuses("$store $given server { listen unix:%%DIR%%/socket; rate_limit 1r/s; rate_limit 3r/s; }", 'rate_limit 3r/s', $window, 'in a server');

my @different = (
    ['1r/s', '1r/m'], ['1r/s', '1r/s name=x'], ['1r/s', '1r/s window=clock'], ['1r/s', '1r/s key=$arg_other'],
    ['1r/s', '1r/s store=other'], ['$arg_r', '$arg_other'],
);
for my $pair (@different) {
    my ($first, $second) = map { "rate_limit $_" } @$pair;
    accepts("$store $given server { listen unix:%%DIR%%/socket; location / { $first; $second; } }", "$first; $second");
}
accepts("$store $given server { listen unix:%%DIR%%/socket; location /a { rate_limit 1r/s; } location /b { rate_limit 2r/s; } }",
    'one window of two locations');

done;

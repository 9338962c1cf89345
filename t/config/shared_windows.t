# Limits without a name that count in the same windows, and differ in rate, burst, number or key: each is warned about once, naming both lines and the remedy.

use RateLimit::Test;

my $listen = 'listen unix:%%DIR%%/socket;';
my $k = 'rate_limit_key $remote_addr;';
my sub two ($first, $second) { return "$k server { $listen location /a { $first; } location /b { $second; } }" }
my sub told ($config) {
    my ($code, $output) = RateLimit::Nginx->test_config($config =~ s/([;{]) +/$1\n/gr);
    is $code, 0, 'valid' or diag $output;
    return ($output, $output =~ /^nginx: (\[warn\] .*has no name and shares its .*)/mg);
}
my sub differ ($first, $second, $what, $shares = 'windows', $config = two($first, $second)) {
    my ($output, @warned) = told($config);
    is scalar @warned, 1, "one warning: $first, $second" or return diag $output;
    my ($file, @at) = $warned[0] =~ /in (\S+):(\d+) has no name and shares its $shares with the one in \S+:(\d+), whose $what differs: .*; give one of them a "name="$/;
    my @lines = split /\n/, defined $file ? read_text($file) : '';
    return is_deeply [map { $lines[$_ - 1] } @at], ["$second;", "$first;"], 'naming both lines' || diag @warned;
}
my sub agree ($config, $what) { my ($output, @warned) = told($config); return is_deeply \@warned, [], "no warning: $what" }

differ('rate_limit 5r/m', 'rate_limit 100r/m', 'rate');
differ('rate_limit 5r/m', 'rate_limit 100r/60s', 'rate');
differ('rate_limit 5r/m', 'rate_limit 5r/m key=$http_x_api_key', 'key');
differ('rate_limit 5r/m', 'rate_limit 9r/m key=$http_x_api_key', 'key');
differ('rate_limit 5r/m burst=5', 'rate_limit 5r/m burst=6', 'burst', 'buckets');
differ('rate_limit 5r/m burst=5', 'rate_limit 6r/m burst=5', 'rate', 'buckets');
differ('rate_limit 5r/m burst=5', 'rate_limit 5r/m burst=$arg_b', 'burst', 'buckets');
differ('rate_limit 5r/m', 'rate_limit $arg_r', 'rate');
differ('rate_limit $arg_r', 'rate_limit 5r/m', 'rate');
differ('rate_limit $arg_r', 'rate_limit $arg_s', 'rate');
differ('rate_limit $arg_r', 'rate_limit $arg_r key=$arg_k', 'key');
differ('rate_limit 5r/d window=clock', 'rate_limit 6r/d window=clock', 'rate');
differ('rate_limit 5r/month window=clock', 'rate_limit 6r/month window=clock', 'rate');
differ('rate_limit_concurrency 5', 'rate_limit_concurrency 6', 'number', 'slots');
differ('rate_limit_concurrency 5', 'rate_limit_concurrency $arg_n', 'number', 'slots');
differ('rate_limit_concurrency 5', 'rate_limit_concurrency 5 key=$arg_k', 'key', 'slots');
differ('rate_limit 5r/m', 'rate_limit 9r/m', 'rate', 'windows', "$k server { $listen location /c { rate_limit 0r/m; } location /a { rate_limit 5r/m; } location /b { rate_limit 9r/m; } }");
differ('rate_limit 5r/m', 'rate_limit 5r/m key=$arg_k', 'key', 'windows', "$k server { $listen location / { rate_limit 5r/m; rate_limit 5r/m key=\$arg_k; } }");

agree(two(@$_), join ', ', @$_) for ['rate_limit 5r/m', 'rate_limit 5r/m'], ['rate_limit 60r/m', 'rate_limit 60r/60s'], ['rate_limit 5r/m', 'rate_limit 5r/h'],
    ['rate_limit 5r/m', 'rate_limit 9r/m name=x'], ['rate_limit 5r/m name=default', 'rate_limit 9r/m'], ['rate_limit 5r/m', 'rate_limit 9r/m burst=5'],
    ['rate_limit 5r/d', 'rate_limit 9r/d window=clock'], ['rate_limit $arg_r', 'rate_limit $arg_r'], ['rate_limit 5r/m', 'rate_limit_concurrency 5'],
    ['rate_limit 5r/m', 'rate_limit 0r/m'],
    ['rate_limit 0r/m', 'rate_limit 5r/m'], ['rate_limit 5r/m burst=5', 'rate_limit 0r/m burst=5'], ['rate_limit_concurrency 0', 'rate_limit_concurrency 5'],
    ['rate_limit 5r/m key=$arg_k', 'rate_limit 5r/m key=${arg_k}'], ['rate_limit 5r/m "key=$uri:$arg_k"', 'rate_limit 5r/m "key=${Uri}:${arg_k}"'],
    ['rate_limit $arg_r', 'rate_limit ${arg_r}'], ['rate_limit 5r/m burst=$arg_b', 'rate_limit 5r/m burst=${arg_b}'], ['rate_limit 31r/31d window=clock', 'rate_limit 9r/month window=clock'], ['rate_limit_concurrency 5', 'rate_limit_concurrency 9 name=x'];
differ(@$_, 'key') for ['rate_limit 5r/m key=$arg_k', 'rate_limit 5r/m key=${arg_l}'], ['rate_limit 5r/m key=$arg_k', 'rate_limit 5r/m key=$arg_k:'], ['rate_limit 5r/m key=$arg_k$1', 'rate_limit 5r/m key=$arg_k$2'],
    ['rate_limit 5r/m key=all', 'rate_limit 5r/m key=$arg_k'];
agree("rate_limit_redis main { shard a primary=127.0.0.1:1; } " . two('rate_limit 5r/m', 'rate_limit 9r/m store=main'), 'another store');
agree("$k rate_limit 5r/m; server { $listen rate_limit_key \$arg_k; location /a { } location /b { rate_limit_key \$arg_j; } }", 'one line, with the key of each block');

# Many locations: one inherited line is one limit; a line that differs is told once; in a time that does not grow with their square.
my $many = join '', map { "location /l$_ { }" } 1 .. 500;
agree("$k rate_limit 5r/m; server { $listen $many }", 'one line in 500 locations');
my (undef, @warned) = told("$k rate_limit 5r/m; server { $listen $many location /x { rate_limit 9r/m; } }");
is scalar @warned, 1, 'one line beside 500 that inherit another';
my $own = join '', map { "location /o$_ { rate_limit " . (5 + $_ % 2) . 'r/m; }' } 1 .. 10_000;
(undef, @warned) = told("$k server { $listen $own }");
is scalar @warned, 5000, 'each line once, of 10,000 locations';

done;

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
my sub differ ($config, $first, $second, $what, $shares = 'windows') {
    my ($output, @warned) = told($config);
    is scalar @warned, 1, "one warning: $first, $second" or return diag $output;
    my ($file, @at) = $warned[0] =~ /in (\S+):(\d+) has no name and shares its $shares with the one in \S+:(\d+), whose $what differs: .*; give one of them a "name="$/;
    my @lines = split /\n/, defined $file ? read_text($file) : '';
    return is_deeply [map { $lines[$_ - 1] } @at], ["$second;", "$first;"], 'naming both lines' || diag @warned;
}
my sub agree ($config, $what) { my ($output, @warned) = told($config); return is_deeply \@warned, [], "no warning: $what" }

my $five = 'rate_limit 5r/m';
my $day  = 'rate_limit 5r/d';
my @pairs = (    # [first, second, what differs; undef: nothing, what they share]
    [$five,                          'rate_limit 100r/m',                            'rate'],
    [$five,                          'rate_limit 100r/60s',                          'rate'],
    [$five,                          "$five key=\$http_x_api_key",                   'key'],
    [$five,                          'rate_limit 9r/m key=$http_x_api_key',          'key'],
    ["$five key=all",                "$five key=\$arg_k",                            'key'],
    ["$five key=\$arg_k",            "$five key=\${arg_k}",                          undef],
    ["$five key=\$arg_k",            "$five key=\${arg_l}",                          'key'],
    ["$five key=\$arg_k",            "$five key=\$arg_k:",                           'key'],
    ["$five key=\$arg_k\$1",         "$five key=\$arg_k\$2",                         'key'],
    ["$five \"key=\$uri:\$arg_k\"",  "$five \"key=\${Uri}:\${arg_k}\"",             undef],
    [$five,                          $five,                                          undef],
    ['rate_limit 60r/m',             'rate_limit 60r/60s',                           undef],
    [$five,                          'rate_limit 5r/h',                              undef],
    [$five,                          'rate_limit 9r/m name=x',                       undef],
    ["$five name=default",           'rate_limit 9r/m',                              undef],
    [$five,                          'rate_limit 0r/m',                              undef],
    ['rate_limit 0r/m',              $five,                                          undef],
    [$five,                          'rate_limit $arg_r',                            'rate'],
    ['rate_limit $arg_r',            $five,                                          'rate'],
    ['rate_limit $arg_r',            'rate_limit $arg_s',                            'rate'],
    ['rate_limit $arg_r',            'rate_limit $arg_r',                            undef],
    ['rate_limit $arg_r',            'rate_limit ${arg_r}',                          undef],
    ['rate_limit $arg_r',            'rate_limit $arg_r key=$arg_k',                 'key'],
    ["$five burst=5",                "$five burst=6",                                'burst', 'buckets'],
    ["$five burst=5",                'rate_limit 6r/m burst=5',                      'rate', 'buckets'],
    ["$five burst=5",                "$five burst=\$arg_b",                          'burst', 'buckets'],
    ["$five burst=\$arg_b",          "$five burst=\${arg_b}",                        undef],
    ["$five burst=5",                'rate_limit 0r/m burst=5',                      undef],
    [$five,                          'rate_limit 9r/m burst=5',                      undef],
    ["$day window=clock",            'rate_limit 6r/d window=clock',                 'rate'],
    ['rate_limit 5r/month window=clock', 'rate_limit 6r/month window=clock',         'rate'],
    [$day,                           'rate_limit 9r/d window=clock',                 undef],
    ['rate_limit 31r/31d window=clock', 'rate_limit 9r/month window=clock',          undef],
    ['rate_limit_concurrency 5',     'rate_limit_concurrency 6',                     'number', 'slots'],
    ['rate_limit_concurrency 5',     'rate_limit_concurrency $arg_n',                'number', 'slots'],
    ['rate_limit_concurrency 5',     'rate_limit_concurrency 5 key=$arg_k',          'key', 'slots'],
    ['rate_limit_concurrency 0',     'rate_limit_concurrency 5',                     undef],
    ['rate_limit_concurrency 5',     'rate_limit_concurrency 9 name=x',              undef],
    [$five,                          'rate_limit_concurrency 5',                     undef],
);
for (@pairs) {
    my ($first, $second, $what, @shared) = @$_;
    defined $what ? differ(two($first, $second), $first, $second, $what, @shared) : agree(two($first, $second), "$first, $second");
}
differ("$k server { $listen location /c { rate_limit 0r/m; } location /a { $five; } location /b { rate_limit 9r/m; } }", $five, 'rate_limit 9r/m', 'rate');
differ("$k server { $listen location / { $five; $five key=\$arg_k; } }", $five, "$five key=\$arg_k", 'key');
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

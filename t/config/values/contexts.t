# Every directive is accepted at every level that it is meant for, with each kind of value, and nowhere else.

use RateLimit::Test;

my $store = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }';
my $limit = 'rate_limit_key $arg_k; rate_limit_store main; rate_limit 5r/s;';

my %values = (
    key           => ['$http_x_key$arg_a', 'constant'],
    store         => ['main', '$arg_store'],
    mode          => ['check_charge'],
    phase         => ['access', 'precontent'],
    cost          => ['0', '1000000000', '$sent_http_x_cost'],
    exempt_status => ['304', '304 404 500', '4xx 5xx !499', '!401 !403', 'off'],
    dry_run       => ['on', 'off', '$arg_dry'],
    bypass        => ['$arg_a a$arg_b', 'off', '0', '""'],
    headers       => ['github', 'ietf', 'ietf github', 'off'],
    status        => ['400', '599'],
    log_level     => ['info', 'notice', 'warn', 'error'],
    on_error      => ['allow', 'deny'],
    error_status  => ['400', '599'],
    ipv4_prefix   => ['1', '32'],
    ipv6_prefix   => ['1', '128'],
);
my @anywhere = (
    (map { "rate_limit $_;" } '10r/s', '0r/s', '1000000000000r/366d', '10r/s dry_run=on; rate_limit 60r/m', 'off'),
    'rate_limit 100r/10s name=a.b-C_9 key=$arg_k window=first store=main mode=check_charge phase=access '
        . 'cost=5 exempt=304,404 penalty=1h jitter=5s headers=off dry_run=off status=503;',
    'rate_limit $arg_rate window=clock store=$arg_store phase=precontent cost=$arg_cost exempt=off '
        . 'dry_run=$arg_dry;',
    map { my $name = $_; map { "rate_limit_$name $_;" } @{$values{$name}} } sort keys %values,
);

# The directives that a limit needs stand at the level above, so that the directive under test is not a second one.
my $above = "$store rate_limit_key \$arg_k; rate_limit_store main;";
my $within = "location /limited { $limit }";
for my $text (@anywhere) {
    my ($own) = $text =~ /^(\w+)/;
    my $http = join ' ', grep { !/^$own / } 'rate_limit_key $arg_k;', 'rate_limit_store main;';
    accepts("$store $http $text server { listen unix:%%DIR%%/a; $within }", "http: $text");
    accepts("$above server { listen unix:%%DIR%%/b; $text $within } server { listen unix:%%DIR%%/c; location / { $text $within } }", "server, location: $text");
}

my %seen;
for my $text (@anywhere) {
    my ($own) = $text =~ /^(\w+)/;
    next if $seen{$own}++;
    refuses("$above server { listen unix:%%DIR%%/socket; location / { if (\$arg_x) { $text } } }", $text,
        qr/"$own" directive is not allowed here in/, "if: $own");
}
refuses("server { listen unix:%%DIR%%/socket; $store }", 'rate_limit_redis', qr/"rate_limit_redis" directive is not allowed here in/,
    'rate_limit_redis in server');

done;

# Every directive is accepted at every level that it is meant for, with each kind of value, and nowhere else.

use RateLimit::Test;

my $store = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }';
my $limit = 'rate_limit_key $arg_k; rate_limit_store main; rate_limit 5r/s;';

my @anywhere = (
    'rate_limit_key $http_x_key$arg_a;',
    'rate_limit_key constant;',
    'rate_limit 10r/s;',
    'rate_limit 0r/s;',
    'rate_limit 1000000000000r/366d;',
    'rate_limit 100r/10s name=a.b-C_9 key=$arg_k window=first store=main mode=check_charge phase=access '
        . 'cost=5 exempt=304,404 dry_run=off status=503;',
    'rate_limit $arg_rate window=clock store=$arg_store phase=precontent cost=$arg_cost exempt=off '
        . 'dry_run=$arg_dry;',
    'rate_limit 10r/s dry_run=on; rate_limit 60r/m;',
    'rate_limit off;',
    'rate_limit_store main;',
    'rate_limit_store $arg_store;',
    'rate_limit_mode check_charge;',
    'rate_limit_phase access;',
    'rate_limit_phase precontent;',
    'rate_limit_cost 0;',
    'rate_limit_cost 1000000000;',
    'rate_limit_cost $sent_http_x_cost;',
    'rate_limit_exempt_status 304;',
    'rate_limit_exempt_status 304 404 500;',
    'rate_limit_exempt_status off;',
    'rate_limit_dry_run on;',
    'rate_limit_dry_run off;',
    'rate_limit_dry_run $arg_dry;',
    'rate_limit_bypass $arg_a a$arg_b;',
    'rate_limit_bypass off;',
    'rate_limit_bypass 0;',
    'rate_limit_bypass "";',
    'rate_limit_headers github;',
    'rate_limit_headers ietf;',
    'rate_limit_headers ietf github;',
    'rate_limit_headers off;',
    'rate_limit_status 400;',
    'rate_limit_status 599;',
    'rate_limit_log_level info;',
    'rate_limit_log_level notice;',
    'rate_limit_log_level warn;',
    'rate_limit_log_level error;',
    'rate_limit_on_error allow;',
    'rate_limit_on_error deny;',
    'rate_limit_error_status 400;',
    'rate_limit_error_status 599;',
    'rate_limit_ipv6_prefix 1;',
    'rate_limit_ipv6_prefix 128;',
);

# What a limit needs stands at the level above, so that the directive under test is not a second one.
my $above = "$store rate_limit_key \$arg_k; rate_limit_store main;";
my $quiet = "server { listen unix:%%DIR%%/socket; location /limited { $limit } }";
for my $text (@anywhere) {
    my ($own) = $text =~ /^(\w+)/;
    my $http = join ' ', grep { !/^$own / } 'rate_limit_key $arg_k;', 'rate_limit_store main;';
    accepts("$store $http $text $quiet", "http: $text");
    accepts("$above server { listen unix:%%DIR%%/socket; $text location /limited { $limit } }", "server: $text");
    accepts("$above server { listen unix:%%DIR%%/socket; location / { $text location /limited { $limit } } }", "location: $text");
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

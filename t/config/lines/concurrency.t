# rate_limit_concurrency: what it takes, what does not go with it, and that its list and that of rate_limit are two.

use RateLimit::Test;

my $redis  = 'rate_limit_redis main { shard a primary=127.0.0.1:1; } rate_limit_redis other { shard a primary=127.0.0.1:2; }';
my $server = 'rate_limit_key $arg_k; server { listen unix:%%DIR%%/socket; location / {';
sub wrong ($lines, $at, $pattern) { return refuses("$server $lines } }", $at, $pattern, $lines) }

wrong("rate_limit_concurrency $_;", "rate_limit_concurrency $_",
    qr/invalid number ".*" in "rate_limit_concurrency": how many requests may run at a time is a whole number from 0 to 1000000000000 in/)
    for '20r/s', '-1', '1.5', '""', 'x', 'on', '1000000000001', '99999999999999999999', 'name=a';
wrong('rate_limit_concurrency;', 'rate_limit_concurrency', qr/invalid number of arguments in "rate_limit_concurrency"/);
wrong("rate_limit_concurrency 20 $_;", $_,
    qr/unknown parameter "\Q$_\E" in "rate_limit_concurrency": it takes name=, key=, store=, phase=, dry_run= and status= in/)
    for qw(mode=lease cost=2 window=first burst=2 exempt=304 limit=1);
wrong('rate_limit_concurrency 20 on;', 'rate_limit_concurrency 20 on', qr/invalid parameter "on" in "rate_limit_concurrency": write NAME=VALUE/);
my %twice = (name => [qw(a b)], key => [qw(a b)], store => [qw(main main)], phase => [qw(access access)], dry_run => [qw(on off)],
    status => [qw(429 503)]);
for my $name (sort keys %twice) {
    my $text = join ' ', 'rate_limit_concurrency 20', map { "$name=$_" } @{$twice{$name}};
    wrong("$text;", $text, qr/duplicate parameter "$name=$twice{$name}[1]" in "rate_limit_concurrency": keep one/);
}
wrong('rate_limit_concurrency off name=a;', 'off name=a', qr/"rate_limit_concurrency off" takes no parameters: remove "name=a" in/);
wrong("rate_limit_concurrency $_->[0]; rate_limit_concurrency $_->[1];", "rate_limit_concurrency $_->[1]",
    qr/"rate_limit_concurrency off" stands beside another "rate_limit_concurrency" of the same block: keep one in/)
    for [qw(off 20)], [qw(20 off)], [qw(off off)];
wrong('rate_limit_concurrency 20 store=nobody;', 'store=nobody', qr/unknown store "nobody" of "rate_limit_concurrency"/);
refuses('server { listen unix:%%DIR%%/socket; rate_limit_concurrency 20; }', 'rate_limit_concurrency 20',
    qr/"rate_limit_concurrency" has no key: add "rate_limit_key" or the parameter "key=" to the line in/);

# Two limits of one count, and one name for slots and windows.
my $same = qr/"rate_limit_concurrency" in \S+ names the same slots as the one in \S+: give one of them another "name="/;
for my $pair (['20', '30'], ['20 name=x', '30 name=x phase=precontent'], ['20', '30 key=$arg_k status=503'], ['$arg_n', '$arg_n']) {
    my ($first, $second) = map { "rate_limit_concurrency $_" } @$pair;
    wrong("$first; $second;", $second, $same);
}
my $name = qr/"rate_limit_concurrency" in \S+ has the same name "\w+" as the "rate_limit" in \S+: give one of them another "name="/;
wrong("$_;", 'rate_limit_concurrency', $name)
    for 'rate_limit 1r/s name=x; rate_limit_concurrency 20 name=x', 'rate_limit_concurrency 20 name=x; rate_limit 1r/m name=x key=other',
    'rate_limit 1r/s name=concurrency; rate_limit_concurrency 20', 'rate_limit 1r/s; rate_limit_concurrency 20 name=default';
refuses('rate_limit_key $arg_k; rate_limit 1r/s name=x; server { listen unix:%%DIR%%/socket; location / { rate_limit_concurrency 20 name=x; } }',
    'rate_limit_concurrency 20', $name, 'a name of an inherited rate_limit');

accepts_quietly("$redis $server $_ rate_limit 1r/s name=a store=main; rate_limit 1r/s name=b store=other; } }", $_) for (
    'rate_limit_concurrency 0;',
    'rate_limit_concurrency 1000000000000;',
    'rate_limit_concurrency $arg_n;',
    'rate_limit_concurrency 20; rate_limit_concurrency 30 name=x;',
    'rate_limit_concurrency 20; rate_limit_concurrency 30 key=$arg_other name=other;',
    'rate_limit_concurrency 20; rate_limit_concurrency 30 store=main;',
    'rate_limit_concurrency 20 store=main; rate_limit_concurrency 20 store=other;',
    'rate_limit_concurrency 20 phase=precontent dry_run=$arg_d status=503 store=$arg_s key=$arg_k name=x;',
    'rate_limit_concurrency off;',
);
notices('rate_limit_key fleet; server { listen unix:%%DIR%%/socket; rate_limit 1r/s; }', 'rate_limit_key fleet', qr/./,
    'one window for all clients is noted');
my ($code, $output) = RateLimit::Nginx->test_config(http => 'server { listen unix:%%DIR%%/socket; rate_limit_concurrency 9 key=fleet; }');
is $code, 0, 'one count for all requests is accepted';
unlike $output, qr/fleet/, '... and is not: it is what a limit of the fleet is';

done;

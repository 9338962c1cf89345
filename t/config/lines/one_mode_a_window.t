# Limits of one store and name have one mode, wherever they stand: another one is an error that names both lines. Modes
# that a Redis store does not have yet are refused.

use RateLimit::Test;

my $stores = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }
    rate_limit_redis other { shard a primary=127.0.0.1:1; }';
my $listen = 'listen unix:%%DIR%%/socket;';

# Two limits in locations of their own, each after what else stands there.
sub both ($first, $second) {
    return "rate_limit_key k; server { $listen location /a { $first; } location /b { $second; } }";
}

sub differ ($first, $second, $name = 'default') {
    my ($code, $output) = RateLimit::Nginx->test_config(both($first, $second) =~ s/([;{]) +/$1\n/gr);
    my $told = qr/but the same store and name "$name": give them one mode, or one of them another "name="/;
    my ($file, @at) = $output =~ /"rate_limit" in (\S+):(\d+) has another mode than the one in \S+:(\d+), $told/;
    my @lines = split /\n/, defined $file ? read_text($file) : '';
    is $code, 1, "refused: $first, $second" or diag $output;
    is_deeply [map { $lines[$_ - 1] } @at], [map { /(rate_limit \d.*)/ ? "$1;" : () } $second, $first],
        'naming both lines';
    return;
}

differ('rate_limit 1r/s', 'rate_limit 2r/s mode=charge_refund');
differ('rate_limit 1r/s mode=charge_refund', 'rate_limit 2r/s mode=check_charge');
differ('rate_limit 1r/s mode=lease', 'rate_limit 2r/s mode=charge_refund');
differ('rate_limit 1r/s name=x mode=lease', 'rate_limit 2r/s name=x', 'x');
differ('rate_limit 1r/s', 'rate_limit_mode charge_refund; rate_limit 2r/s');
differ('rate_limit 1r/s key=a', 'rate_limit 9r/d key=b window=clock mode=lease');
differ('rate_limit 1r/s', 'rate_limit 2r/s store=local mode=lease');

accepts(both("rate_limit 1r/s mode=$_", "rate_limit 2r/m mode=$_"), "both $_") for qw(check_charge charge_refund lease);
accepts(both('rate_limit 1r/s', 'rate_limit 1r/s mode=check_charge'), 'the default and its name');
accepts(both('rate_limit_mode lease; rate_limit 1r/s', 'rate_limit 1r/s mode=lease'), 'a directive and a parameter');
accepts(both('rate_limit 1r/s', 'rate_limit 1r/s name=x mode=lease'), 'another name');
accepts("$stores " . both('rate_limit 1r/s store=main',
    'rate_limit 1r/s store=local mode=lease; rate_limit 1r/m name=x store=other'),
    'another store');
accepts("rate_limit_mode lease; rate_limit_key k; rate_limit 1r/s;
    server { $listen location /a { rate_limit_mode check_charge; rate_limit off; } }",
    'a mode that no limit has');

accepts("$stores " . both('rate_limit_store main; rate_limit 1r/s',
    'rate_limit_store other; rate_limit_mode lease; rate_limit 1r/s store=local'),
    'a mode of the local store beside Redis stores');

refuses('rate_limit_mode charge;', 'rate_limit_mode', qr/invalid mode "charge" in "rate_limit_mode": it is "check_charge", "charge_refund" or "lease"/);

done;

# A wrong value is refused with a message that names the directive, the file and line, and what would be right.

use RateLimit::Test;

my %remedy = (
    rate   => qr/a rate has the form Nr\/PERIOD, such as/,
    period => qr/the period of a rate must be from 1s to 366d/,
    name   => qr/a name is 1 to 32 of A-Z a-z 0-9 _ \. -/,
    cost   => qr/it is a whole number from 0 to 1000000000000, a variable, or a sum such as \$in\*3\+\$out\/4; at "/,
    exempt => qr/it is a status code from 100 to 599, a class such as 4xx, an exception such as !401 or !4xx, or "off"/,
    mode   => qr/it is "check_charge", "charge_refund" or "lease"/,
    dry    => qr/it is "on", "off" or a variable/,
    status => qr/it is a whole number from 400 to 599/,
    prefix => qr/it is a whole number from 1 to 128/,
    lease  => qr/it is "auto" or a whole number of tokens from 1 to 1000000000/,
    headers => qr/it is "github", "ietf" and "retry_after", one or more of them, or "off" alone/,
);

# directive with its value => what is wrong, what would be right
my @values = (
    (map { ["rate_limit $_", qr/invalid rate ".*" in "rate_limit"/, $remedy{rate}] }
        '10', '10r', '10r/', 'r/s', '10/s', '-1r/s', '+1r/s', '1.5r/s', '10r/w', '10r/S', '10R/s', '10r/s5', '10r/ms',
        '"10 r/s"', '" 10r/s"', '""', '10r/-1s', 'on', '10r/1.5h', '10r/s,'),
    ['rate_limit 1000000000001r/s', qr/invalid rate ".*" in "rate_limit"/, qr/the limit of a rate must be from 0 to 1000000000000/],
    ['rate_limit 99999999999999999999r/s', qr/invalid rate ".*" in "rate_limit"/, qr/the limit of a rate must be from 0 to 1000000000000/],
    (map { ["rate_limit 1r/$_", qr/invalid rate ".*" in "rate_limit"/, $remedy{period}] } '0s', '367d', '31622401s', '99999999999999999999d'),

    (map { ["rate_limit 1r/$_", qr/invalid rate ".*" in "rate_limit"/, $remedy{rate}] } '2month', 'months', 'Month'),
    (map { ["rate_limit 1r/month $_", qr/invalid rate "1r\/month" in "rate_limit"/, qr/a week or a month is one of the calendar: add "window=clock", or "window=local", or write a number of days/] } '', 'window=first'),
    (map { ["rate_limit 1r/$_ window=local", qr/invalid rate "1r\/$_" in "rate_limit"/, qr/windows of the local time are days, weeks or months, such as 1000r\/d, 5000r\/week, 20000r\/month: write one of these, or "window=clock"/] } qw(s h 24h 7d)),

    (map { ["rate_limit 1r/s name=$_", qr/invalid name ".*" in "rate_limit"/, $remedy{name}] }
        '', 'a' x 33, 'a/b', 'a:b', '$arg_a', "\xc3\xa9"),
    ['rate_limit 1r/s "name=a b"', qr/invalid name "a b" in "rate_limit"/, $remedy{name}],
    (map { ["rate_limit 1r/s window=$_", qr/invalid window ".*" in "rate_limit"/, qr/it is "first", "clock" or "local"/] }
        '', 'last', 'First', '$arg_a'),
    (map { ["rate_limit 1r/s mode=$_", qr/invalid mode ".*" in "rate_limit"/, $remedy{mode}] } '', 'charge', '$arg_a'),
    (map { ["rate_limit 1r/s phase=$_", qr/invalid phase ".*" in "rate_limit"/, qr/it is "access" or "precontent"/] }
        '', 'content', '$arg_a'),
    (map { ["rate_limit 1r/s cost=$_", qr/invalid cost ".*" in "rate_limit"/, $remedy{cost}] } '-1', '1000000000001', '1.5', 'x'),
    (map { ["rate_limit 1r/s exempt=$_", qr/invalid exempt status ".*" in "rate_limit"/, $remedy{exempt}] }
        '', '99', '600', '304,', ',304', '304,,404', '3O4', '304,off', '$arg_a', '0xx', '6xx', '4XX', '!', '!!401', '!off', '40x', '4xxx', '304,!'),
    ['rate_limit 1r/s "exempt=304 404"', qr/invalid exempt status "304 404" in "rate_limit"/, $remedy{exempt}],
    (map { ["rate_limit 1r/s dry_run=$_", qr/invalid dry run ".*" in "rate_limit"/, $remedy{dry}] } '', '1', 'yes', '$'),
    (map { ["rate_limit 1r/s jitter=$_", qr/invalid jitter ".*" in "rate_limit"/, qr/it is a time from 1s to 366d/] } '', '0', '0s', '-1s', '367d', '500ms', 'x', '$arg_a'),
    (map { ["rate_limit 1r/s penalty=$_", qr/invalid penalty ".*" in "rate_limit"/, qr/it is a time from 1s to 366d/] } '', '0', '0s', '-1s', '367d', '500ms', 'x'),
    (map { ["rate_limit 1r/s penalty=$_", qr/invalid penalty ".*" in "rate_limit"/, qr/it takes no variables: write a time from 1s to 366d/] } '$arg_a', '1h$arg_a'),
    (map { ["rate_limit 1r/s headers=$_", qr/invalid headers ".*" in "rate_limit"/, qr/it is "on" or "off"/] } '', 'github', 'no', '$arg_a'),
    (map { ["rate_limit 1r/s status=$_", qr/invalid status ".*" in "rate_limit"/, qr/it is a status code from 400 to 599/] }
        '', '399', '600', '200', 'x', '-429', '4290', '$arg_a', '429,503', 'off'),
    ['rate_limit 1r/s store=', qr/empty store in "rate_limit"/, qr/it is "local", the name of a "rate_limit_redis" block, or a variable that holds its name/],
    (map { ["rate_limit 1r/s $_", qr/unknown parameter ".*" in "rate_limit"/, qr/it takes burst=, delay=, name=, key=, window=/] }
        'delays=5', 'Name=a', '=a', '"name =a"'),
    (map { ["rate_limit 1r/s $_", qr/invalid parameter ".*" in "rate_limit"/, qr/write NAME=VALUE/] } 'nodelay', '""', 'off'),

    ['rate_limit_store ""', qr/empty store in "rate_limit_store"/, qr/it is "local", the name of a "rate_limit_redis" block, or a variable that holds its name/],
    ['rate_limit_mode charge', qr/invalid mode "charge" in "rate_limit_mode"/, $remedy{mode}],
    ['rate_limit_phase content', qr/invalid value "content" in "rate_limit_phase"/, qr/it is one of "access", "precontent"/],
    (map { ["rate_limit_cost $_", qr/invalid cost ".*" in "rate_limit_cost"/, $remedy{cost}] } '-1', '1e3', '1000000000001', '" 1"'),
    (map { ["rate_limit 1r/s \"cost=$_->[0]\"", qr/invalid cost "\Q$_->[0]\E" in "rate_limit"/, qr/$remedy{cost}\Q$_->[1]\E": $_->[2]/] }
        ['$arg_a*+3', '+3', 'a number or a variable is missing before this'], ['$arg_a+', '+', 'a number or a variable is missing after this'],
        ['$arg_a/$arg_b', '/$arg_b', 'a whole number from 1 to 1000000000000 follows "/"'], ['$arg_a/0', '/0', 'a whole number from 1'],
        ['$arg_a * 3', ' * 3', 'it takes digits, variables, '], ['$arg_a-1', '-1', 'it takes digits, variables, '],
        ['10*100000000001', '10*100000000001', 'it is too great'], ['$arg_a*9999999999999999999', '9999999999999999999', 'the number is too great']),
    (map { ["rate_limit 1r/s mode=lease reserve=$_", qr/invalid reserve ".*" in "rate_limit"/, qr/it is a whole number from 0 to 1000000000000, a variable, or a sum/] }
        '-1', '1000000000001', 'x', '$arg_a+'),
    (map { ["rate_limit_exempt_status $_", qr/invalid exempt status ".*" in "rate_limit_exempt_status"/, $remedy{exempt}] }
        '99', '600', 'x', '304 off', '""', '$arg_a', '304 6xx', '4xx !', '!600', '4xx 5xx,6xx'),
    (map { ["rate_limit_dry_run $_", qr/invalid dry run ".*" in "rate_limit_dry_run"/, $remedy{dry}] } '1', 'On', '""'),
    (map { ["rate_limit_lease $_", qr/invalid value ".*" in "rate_limit_lease"/, $remedy{lease}] }
        '0', '-1', '+1', '1.5', '""', 'x', 'Auto', '$arg_a', '" 1"', '1k', '1000000001', '99999999999999999999'),
    (map { ["rate_limit_headers $_", qr/invalid value ".*" in "rate_limit_headers"/, $remedy{headers}] }
        'on', 'github off', 'off off', 'github github', 'ietf draft', 'github ietf off', '""'),
    (map { my $d = $_; map { ["$d $_", qr/invalid number ".*" in "$d"/, $remedy{status}] } '399', '600', 'x', '-429', '""', '429.0' }
        'rate_limit_status', 'rate_limit_error_status'),
    (map { ["rate_limit_ipv4_prefix $_", qr/invalid number ".*" in "rate_limit_ipv4_prefix"/, qr/it is a whole number from 1 to 32/] }
        '0', '33', '-1', 'x', '""', '24.5', '/24'),
    (map { ["rate_limit_ipv6_prefix $_", qr/invalid number ".*" in "rate_limit_ipv6_prefix"/, $remedy{prefix}] }
        '0', '129', '/64', 'x', '99999999999999999999'),
    (map { ["rate_limit_log_level $_", qr/invalid value ".*" in "rate_limit_log_level"/, qr/it is one of "info", "notice", "warn", "error"/] }
        'debug', 'crit', 'off', '""'),
    (map { ["rate_limit_on_error $_", qr/invalid value ".*" in "rate_limit_on_error"/, qr/it is one of "allow", "deny"/] } 'pass', 'on', '""'),
);
for my $case (@values) {
    my ($text, $wrong, $right) = @$case;
    refuses("$text;", $text, qr/$wrong: $right/);
}

my @arguments = (
    'rate_limit', 'rate_limit_key', 'rate_limit_key a b', 'rate_limit_store', 'rate_limit_store a b', 'rate_limit_mode',
    'rate_limit_phase', 'rate_limit_phase access access', 'rate_limit_cost', 'rate_limit_cost 1 2', 'rate_limit_exempt_status',
    'rate_limit_dry_run', 'rate_limit_lease', 'rate_limit_lease auto 1', 'rate_limit_bypass', 'rate_limit_headers', 'rate_limit_status',
    'rate_limit_log_level', 'rate_limit_on_error', 'rate_limit_error_status', 'rate_limit_ipv6_prefix', 'rate_limit_ipv4_prefix',
);
for my $text (@arguments) {
    my ($directive) = split / /, $text;
    refuses("$text;", $text, qr/invalid number of arguments in "$directive" directive in/);
}

for my $value ('auto', '1', '1000000000') {
    my ($first, $second) = map { "rate_limit_lease $_;" } $value, 7;
    accepts("$first server { listen unix:%%DIR%%/socket; $second location / { $first } }", $first);
}

done;

# A value with what nginx does not take for a variable is refused, wherever values may hold variables.

use RateLimit::Test;

my @values = (
    (map { [$_, qr/a name follows "\$"; for a dollar itself write "geo \$dollar \{ default \$; \}" in "http"/] }
        'a$', '$', 'a$-b', '$$host', '${}', '${'),
    ['${host', qr/the closing bracket of "\$\{host" is missing in ".*": write "\$\{name\}"/],
    ['a${host-}', qr/the closing bracket of "\$\{host" is missing in ".*": write "\$\{name\}"/],
);
for my $line ('rate_limit_key "VALUE"', 'rate_limit "VALUE"', 'rate_limit 1r/s "burst=VALUE"', 'rate_limit 1r/s "store=VALUE"',
    'rate_limit_cost "VALUE"', 'rate_limit_concurrency "VALUE"', 'rate_limit_bypass "VALUE"') {
    for (@values) {
        my ($value, $remedy) = @$_;
        my $text = $line =~ s/VALUE/$value/r;
        refuses("$text;", $text, $remedy, $text);
    }
}
accepts_quietly('geo $dollar { default $; } rate_limit_key "$remote_addr${dollar}$1"; rate_limit 1r/s;', 'a dollar, and a capture');

done;

# The values that rate_limit_console takes, and where it may stand.

use RateLimit::Test;

my %bad = (
    'location /c/ { rate_limit_console; }'                          => qr/invalid number of arguments in "rate_limit_console" directive/,
    'location /c/ { rate_limit_console on; }'                       => qr/invalid value "on" in "rate_limit_console": it is "view" or "manage"/,
    'location /c/ { rate_limit_console view from=all; }'            => qr/invalid parameter "from=all" in "rate_limit_console": it takes "from=local" or "from=any", and "keys=id" or "keys=plain"/,
    'location /c/ { rate_limit_console view keys=all; }'            => qr/invalid parameter "keys=all"/,
    'location /c/ { rate_limit_console view manage; }'              => qr/invalid parameter "manage"/,
    'location /c/ { rate_limit_console manage view; }'              => qr/invalid parameter "view"/,
    'location /c/ { rate_limit_console view; rate_limit_console view; }' => qr/"rate_limit_console" directive is duplicate/,
    'location ~ ^/c/ { rate_limit_console view; }'                  => qr/needs a location with a prefix, such as "\/limits\/", not a regular expression/,
    'location = /c/ { rate_limit_console view; }'                   => qr/needs a location with a prefix, such as "\/limits\/", without "=": its pages are below it/,
    'location @c { rate_limit_console view; }'                      => qr/needs a location with a prefix/,
    'rate_limit_console view;'                                      => qr/"rate_limit_console" directive is not allowed here/,
);
sub at ($text) { return "server { listen unix:%%DIR%%/socket; $text }" }
refuses(at($_), 'rate_limit_console', $bad{$_}, $_) for sort keys %bad;
accepts(at("location /c/ { rate_limit_console $_; }"), $_) for 'view', 'view from=local', 'view from=any', 'view keys=id', 'view keys=plain from=local', 'manage', 'manage from=any keys=plain';

done;

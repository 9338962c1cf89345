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
for my $server (sort keys %bad) {
    my ($code, $output) = RateLimit::Nginx->test_config(server => $server);
    isnt $code, 0, $server;
    like $output, $bad{$server}, '... says why';
    like $output, qr/nginx\.conf:\d+/, '... and where';
}
for my $parameters ('view', 'view from=local', 'view from=any', 'view keys=id', 'view keys=plain from=local', 'manage', 'manage from=any keys=plain') {
    my ($code, $output) = RateLimit::Nginx->test_config(server => "location /c/ { rate_limit_console $parameters; }");
    is $code, 0, $parameters or diag $output;
}

done;

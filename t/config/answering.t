# A location with a report or a console has no other directive that answers, wherever that stands: before it or after it, in an `if` or a
# `limit_except`, at once or when blocks are merged. Locations in it may have one, and blocks without one are taken.

use RateLimit::Test;

my @others = ('proxy_pass http://127.0.0.1:1;', 'fastcgi_pass 127.0.0.1:1;', 'uwsgi_pass 127.0.0.1:1;', 'scgi_pass 127.0.0.1:1;',
    'grpc_pass 127.0.0.1:1;', 'memcached_pass 127.0.0.1:1;', 'empty_gif;', 'stub_status;', 'flv;', 'mp4;');
my sub location ($text) { return "server { listen unix:%%DIR%%/socket; set \$memcached_key k; rate_limit_key \$arg_k; rate_limit 1r/s; location /x/ { $text } }" }

for my $own ('rate_limit_report;', 'rate_limit_console view;', 'rate_limit_console manage from=any;') {
    my ($name) = $own =~ /(\w+)/;
    my $why = qr/"$name" in \S+:\d+ answers by itself, and so does another directive, such as "proxy_pass".*give each a location of its own/;
    for my $block ('%s', 'if ($arg_x) { %s }', 'limit_except GET { %s }') {
        for my $other (grep { $block eq '%s' || $block =~ /^if/ && /_pass/ || /proxy/ } @others) {
            my $there = sprintf $block, $other;
            refuses(location("$own $there"), $name, $why, "$own, then $there");
            refuses(location("$there $own"), $name, $why, "$there, then $own");
        }
    }
    accepts(location("$own $_"), "$own $_") for 'location /x/y { empty_gif; }', 'if ($arg_x) { set $y 1; }', 'if ($arg_x) { return 204; }',
        'limit_except GET { deny all; }', 'error_page 404 /y;', 'if ($arg_x) { set $y 1; } limit_except GET { allow all; }';
}

done;

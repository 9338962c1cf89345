# A key, rate, burst, reservation or number of running requests that uses what is not known yet when limits are checked is warned about,
# once, with the remedy: the module's own variables but the addresses, where no limit has been checked before, and what only a
# response has.

use RateLimit::Test;

my $listen    = 'listen unix:%%DIR%%/socket;';
my $reference = read_text(project_path('docs/reference.md'));
my ($section) = $reference =~ /^## Variables\n(.*?)^## /ms;
my @own       = grep { !/_addr$/ } $section =~ /^\| `\$(rate_limit_[a-z_]+)`/mg;
cmp_ok scalar @own, '>=', 13, 'the reference has the variables';

sub at ($text) { return "server { $listen location / { $text } }" }

my $set = 'which this module sets only when it has checked the limits of the access phase: it has no value before';
for my $name (@own) {
    my $key = qr/the key in \S+ uses "\$$name", $set; write what the request says, such as "\$rate_limit_addr"$/;
    warns(at("rate_limit 1r/s key=\$$name;"), "key=\$$name", $key, "$name in a key");
}
warns(at('rate_limit_key "a:$rate_limit_id"; rate_limit 1r/s; rate_limit 1r/m name=other;'), 'rate_limit_key', qr/the key in \S+ uses "\$rate_limit_id"/, 'once for a key');
warns(at('rate_limit 1r/s key=$rate_limit_id phase=precontent;'), 'key=', qr/the key in \S+ uses "\$rate_limit_id"/, 'no limit before it');
for (['rate_limit "VALUE" key=$remote_addr;', 'rate', 'rate_limit'], ['rate_limit 1r/s "burst=VALUE" key=$remote_addr;', 'burst', 'rate_limit'],
    ['rate_limit 1r/s mode=lease "reserve=VALUE" key=$remote_addr;', 'reserve', 'rate_limit'],
    ['rate_limit_concurrency "VALUE" key=$remote_addr;', 'number', 'rate_limit_concurrency']) {
    my ($line, $noun, $directive) = @$_;
    warns(at($line =~ s/VALUE/\$rate_limit_used/r), $directive, qr/the $noun of "$directive" in \S+ uses "\$rate_limit_used", $set; write a number, or a "map"/, "$noun");
    warns(at($line =~ s/VALUE/\$upstream_http_x/r), $directive,
        qr/the $noun of "$directive" in \S+ uses "\$upstream_http_x", which is not known yet when limits are checked: it has no value; .* "phase=precontent"$/, "$noun of a response");
    accepts_quietly(at($line =~ s/VALUE/\$http_x/r), "$noun of the request");
}
warns("server { $listen rate_limit \$rate_limit_limit key=\$remote_addr; location /a { } location /b { } }", 'rate_limit $', qr/the rate of /, 'once for a line');
accepts_quietly('map $uri $rate_limit_of_mine { default a; } ' . at("rate_limit 1r/s key=\$$_;"), $_) for 'rate_limit_addr', 'rate_limit_binary_addr', 'rate_limit_of_mine';
accepts_quietly(at('rate_limit 5r/s key=$remote_addr; rate_limit $rate_limit_limit key=$rate_limit_id name=second phase=precontent;'), 'after another limit');

done;

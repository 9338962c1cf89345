# A console for clients on this machine is warned about where its server listens to this machine alone, as what is behind a proxy does: that proxy's
# clients would be taken for local ones. One that acts by a warning, one that is only read by a notice; once for each, and with what to write.

use RateLimit::Test;

my sub server ($listen, $console) { return "server { $listen location /c/ { rate_limit_console $console; } }" }
my @here = ('listen 127.0.0.1:%%PORT%%;', 'listen 127.1.2.3:%%PORT%%;', 'listen [::1]:%%PORT%%;', 'listen unix:%%DIR%%/socket;', 'listen 127.0.0.1:%%PORT%%; listen unix:%%DIR%%/socket;');
my @everywhere = ('listen %%PORT%%;', 'listen [::]:%%PORT%%;', 'listen 127.0.0.1:%%PORT%%; listen %%PORT_1%%;', 'listen unix:%%DIR%%/socket; listen 0.0.0.0:%%PORT%%;');
my $why = qr/"rate_limit_console" in \S+:\d+ answers clients on this machine, .* that proxy's clients would be.*"from=any" with "auth_basic", or with "allow" where realip restores the client \(behind a local proxy "allow 127.0.0.1" admits the world\)/;

for my $listen (@here) {
    warns(server($listen, 'manage'), 'rate_limit_console', $why);
    notices(server($listen, 'view from=local'), 'rate_limit_console', $why);
    accepts_quietly(server($listen, "$_ from=any")) for qw(view manage);
}
for my $listen (@everywhere) {
    accepts_quietly(server($listen, 'manage'));
    my ($code, $output) = RateLimit::Nginx->test_config(server($listen, 'view'));
    unlike $output, qr/rate_limit_console/, "no notice: $listen";
}

my $two = 'server { listen %%PORT%%; server_name a; location /c/ { rate_limit_console manage; } }
    server { listen 127.0.0.1:%%PORT%%; server_name b; location /c/ { rate_limit_console manage from=local; } }';
warns($two, 'from=local', $why, 'each server for itself');
warns(server('listen 127.0.0.1:%%PORT%%;', 'manage; if ($arg_x) { set $y 1; } limit_except GET { allow all; } error_page 404 /y'), 'manage', $why,
    'once, whatever blocks are in the location');

done;

# A limit in effect needs a key and a store that exists; what would work but not as meant is warned about.

use RateLimit::Test;

my $store = 'rate_limit_redis main { shard a primary=127.0.0.1:1; }';

my $key = qr/"rate_limit" has no key: add "rate_limit_key" or the parameter "key=" to the line/;
refuses("$store rate_limit_store main; server { listen unix:%%DIR%%/socket; rate_limit 1r/s; }", 'rate_limit 1r/s', $key, 'no key in a server');
refuses("$store rate_limit_store main; server { listen unix:%%DIR%%/socket; location / { rate_limit 1r/s; } }", 'rate_limit 1r/s', $key,
    'no key in a location');
refuses("$store rate_limit_store main; rate_limit 1r/s; server { listen unix:%%DIR%%/socket; }", 'rate_limit 1r/s', $key,
    'no key in a server that inherits the line');
accepts("$store rate_limit_store main; rate_limit 1r/s; server { listen unix:%%DIR%%/socket; rate_limit_key a; location / { } }",
    'a line of http, the key of a server');

my sub unknown_of ($directive) { return qr/unknown store "nope" of "$directive" in \S+: there is no block "rate_limit_redis nope"/ }
my $unknown = unknown_of('rate_limit');
refuses("$store server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=nope; }", 'rate_limit 1r/s', $unknown, 'store=nope');
refuses("$store rate_limit_store nope; server { listen unix:%%DIR%%/socket; rate_limit_key a; location / { rate_limit 1r/s; } }",
    'rate_limit_store nope', unknown_of('rate_limit_store'), 'rate_limit_store nope');
refuses("$store rate_limit_store nope; server { listen unix:%%DIR%%/socket; rate_limit_key a; location / { rate_limit 1r/s store=main; } }",
    'rate_limit_store nope', unknown_of('rate_limit_store'), '... also where each line has its own store');
refuses("$store rate_limit_key a; rate_limit 1r/s store=nope; server { listen unix:%%DIR%%/socket; rate_limit 1r/m store=main; }",
    'rate_limit 1r/s store=nope', $unknown, '... and of a line that no block inherits');
refuses("$store server { listen unix:%%DIR%%/socket; location / { rate_limit_store nope; } }", 'rate_limit_store nope', unknown_of('rate_limit_store'),
    '... and where nothing is limited');
refuses("$store server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit_concurrency 1 store=nope; }", 'rate_limit_concurrency 1 store=nope',
    unknown_of('rate_limit_concurrency'), '... and of running requests');
accepts_quietly("server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=main; } $store",
    'a store that is configured further down');

# Stores that no limit uses.
my $unused = qr/no limit uses "rate_limit_redis main" in \S+: add "rate_limit_store main", or limits stay per machine/;
warns($store, 'rate_limit_redis main', $unused, 'a store and no limit');
warns("$store rate_limit_store main; server { listen unix:%%DIR%%/socket; rate_limit_key a; }", 'rate_limit_redis main', $unused,
    'a store and no rate_limit line');
accepts_quietly("$store server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=\$arg_s; }",
    'a store by variable');

# Names that are not verified yet.
my $early = qr/the key of "rate_limit" uses "\$remote_user" in the access phase, where the name is not verified yet: .* add "phase=precontent"/;
my $used  = "$store rate_limit_store main;";
for my $name ('$remote_user', '${remote_user}', 'u:$remote_user', '$arg_x$remote_user', '"${remote_user}x"') {
    warns("$used server { listen unix:%%DIR%%/socket; location / { rate_limit_key $name; rate_limit 1r/s; } }", 'rate_limit 1r/s', $early, $name);
}
warns("$used server { listen unix:%%DIR%%/socket; location / { rate_limit 1r/s key=\$remote_user; } }", 'rate_limit 1r/s', $early,
    'key=$remote_user');
warns("$used rate_limit_key \$remote_user; rate_limit 1r/s; server { listen unix:%%DIR%%/socket; location / { } location /b { } }",
    'rate_limit 1r/s', $early, 'one line in effect in many locations: once');
for my $text ('rate_limit_key $remote_user; rate_limit 1r/s phase=precontent;', 'rate_limit_key $remote_username; rate_limit 1r/s;',
    'rate_limit_key $remote_user; rate_limit_phase precontent; rate_limit 1r/s;', 'rate_limit_key $remote_addr; rate_limit 1r/s;') {
    accepts_quietly(
        "map a \$remote_username { default a; } $used server { listen unix:%%DIR%%/socket; location / { $text } }", $text);
}

# Host names are resolved once, unless there is a resolver. 127.1 is one to nginx, which the system resolves without asking anybody.
my $named  = 'rate_limit_redis main { shard a primary=127.0.0.1:1 replica=127.1:2; }';
my $server = 'server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=main; }';
my $once   = qr/the host names of "rate_limit_redis main" in \S+ are resolved only now: add "resolver" to "http"/;
warns("$named $server", 'rate_limit_redis main', $once, 'a host name without resolver');
accepts_quietly("resolver 127.0.0.1; $named $server", 'with a resolver');
accepts_quietly($named =~ s/127\.1/[::1]/r . $server, 'addresses need none');

done;

# Keys that do not tell clients apart: the name of a variable without its $, a constant, an empty one, what is known only
# after the response. Each is told once, and names the line where the key stands.

use RateLimit::Test;

my $listen = 'listen unix:%%DIR%%/socket;';

# Tests a key both as a parameter and as a directive; $written is the key as the configuration has it.
sub both ($says, $key, $written, $pattern) {
    my ($word) = $written =~ /^"/ ? $written =~ s/^"/"key=/r : "key=$written";
    $says->("server { $listen location / { rate_limit 1r/s $word; } }", 'rate_limit 1r/s', $pattern->("key=\$$key"), $word);
    $says->("server { $listen rate_limit_key $written; location / { rate_limit 1r/s; } }", "rate_limit_key $written",
        $pattern->("rate_limit_key \$$key"), "rate_limit_key $written");
    return;
}

for my $name ('remote_addr', 'binary_remote_addr', 'rate_limit_addr', 'http_x_api_key', 'arg_user', 'cookie_session', 'Remote_Addr') {
    both(\&warns, $name, $name, sub ($remedy) {
        qr/the key "$name" in \S+ is the name of a variable without its "\$": all clients share one window; write "\Q$remedy\E"$/;
    });
}
for my $own ('map $http_x_key $client { default a; }', 'geo $client { default a; }') {
    warns("$own server { $listen location / { rate_limit 1r/s key=client; } }", 'key=client',
        qr/the key "client" in .* write "key=\$client"$/, "a variable of $own");
}
warns("server { $listen location / { rate_limit 1r/s key=client; set \$client a; } }", 'key=client', qr/the key "client" in /,
    'a variable of set');

for my $constant ('all', 'client', 'http_', 'user:remote_addr', 'remote_addr:', '"remote addr"', '-') {
    my $text = $constant =~ s/"//gr;
    both(\&notices, '', $constant, sub ($remedy) { qr/the key "\Q$text\E" in \S+ is a constant: all clients share one window$/ });
}
both(\&warns, '', '""', sub ($remedy) { qr/the key in \S+ is empty: no limit with it ever applies; write "rate_limit off"/ });

my $early = qr/which is not known yet when limits are checked: it tells no clients apart; .* with "phase=precontent"$/;
for my $name ('upstream_http_x_user', 'upstream_cookie_user', 'upstream_addr', 'upstream_status', 'upstream_cache_status', 'sent_http_x_user',
    'sent_http_content_type', 'sent_trailer_x', 'request_time', 'bytes_sent', 'body_bytes_sent', 'status', 'request_completion',
    'gzip_ratio') {
    both(\&warns, '', "\$$name", sub ($remedy) { qr/the key in \S+ uses "\$$name", $early/ });
}
for my $name ('request_body', 'request_body_file') {
    both(\&warns, '', "\$$name", sub ($remedy) {
        qr/the key in \S+ uses "\$$name", which is empty where nothing has read the body before limits are checked: nothing is limited then; take a header or an argument as the key, or, from nginx 1\.31\.5 on, turn "client_body_early_read" on$/;
    });
}
for my $written ('${upstream_http_x}', 'u:$upstream_http_x', '$arg_a$upstream_http_x', '"${upstream_http_x} a"', '$Upstream_Http_X') {
    both(\&warns, '', $written, sub ($remedy) { qr/uses "\$upstream_http_x", $early/i });
}
warns("server { $listen location / { rate_limit 1r/s key=\$upstream_http_x phase=precontent; } }", 'rate_limit 1r/s',
    qr/uses "\$upstream_http_x", $early/, 'in the precontent phase too');

# Once, in however many locations a key is in effect; not where it is in effect nowhere.
my $three = 'location /a { rate_limit 1r/s name=a; } location /b { rate_limit 2r/s name=b; rate_limit 3r/m; } location /c { }';
warns("rate_limit_key remote_addr; rate_limit 5r/s; server { $listen $three }", 'rate_limit_key', qr/the key "remote_addr"/, 'a key of three');
notices("rate_limit_key a; rate_limit 5r/s; server { $listen $three }", 'rate_limit_key', qr/the key "a"/, 'a constant of three');
warns("rate_limit 5r/s key=\$status; server { $listen location /a { } location /b { } }", 'rate_limit 5r/s', qr/uses "\$status"/,
    'a line of three');
accepts_quietly("rate_limit_key remote_addr; server { $listen rate_limit_key \$arg_k; $three }", 'a key that no limit has');

# Keys that are right.
for my $key ('$remote_addr', '$arg_k', 'a$arg_k', '$upstream_pool', '$statuses', '$http_status', '$request_timer') {
    my $own = 'map $arg_k $upstream_pool { default a; } map $arg_k $statuses { default a; } map $arg_k $request_timer { default a; }';
    accepts_quietly("$own server { $listen location / { rate_limit 1r/s key=$key; } }", $key);
}

done;

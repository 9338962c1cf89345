# No text of a key comes out: neither in the console's pages, nor in the log, in clear, as hex or as base64. Under keys=plain JSON and the page for people
# show it, and nothing else does; and when no console of the configuration shows keys any more, what was kept is gone.

use RateLimit::Test;
use JSON::PP;
use MIME::Base64 qw(encode_base64);

my $redis = RateLimit::Redis->start;
my $gone  = free_port();
my sub server ($more) {
    return 'rate_limit_key $http_x_key; rate_limit_log_level info; location /limits/ { rate_limit_console view; }
        location /local { rate_limit 1r/d name=local; } location /redis { rate_limit 1r/d name=redis store=main; }
        location /lease { rate_limit 3r/d name=lease store=main mode=lease; } location /refund { rate_limit 1r/d name=refund store=main mode=charge_refund; }
        location /gone { rate_limit 1r/d name=gone store=gone; rate_limit_on_error local; }
        location /dry { rate_limit 1r/d name=dry dry_run=on; } location /zero { rate_limit 0r/s name=zero; }' . $more;
}
my $plain = 'location /plain/ { rate_limit_console view keys=plain; }';
my %conf  = (workers => 2, http => redis_block('main', $redis) . "rate_limit_redis gone { shard a primary=127.0.0.1:$gone; }");
my $nginx = RateLimit::Nginx->start(%conf, server => server(''));
my @uris  = qw(local redis lease refund gone dry zero);
my %key   = map { my $uri = $_; $uri => join '', map { ('a' .. 'z', 'A' .. 'Z')[rand 52] } 1 .. 40 } @uris;
my sub ask () {
    for my $uri (@uris) { $nginx->get("/$uri", 'X-Key' => $key{$uri}) for 1 .. 8 }
    return;
}

# Base64 of a text depends on how many bytes are before it, modulo 3: its middle is the same.
my sub forms ($key) {
    my @base64 = map { substr encode_base64(('x' x $_) . $key, ''), 4, 44 } 0 .. 2;
    return ($key, unpack('H*', $key), uc unpack('H*', $key), scalar reverse($key), @base64);
}
my $any = join '|', map { quotemeta } map { forms($_) } values %key;
my sub is_hidden ($where, $text) { return unlike $text, qr/$any/, "no key in $where" }
my sub keys_in ($page) { return {map { $_->{limit} => $_->{key} } @{decode_json($page)->{top}{keys}}} }
my sub page ($path) { return $nginx->get($path)->body }

ask();
my $json = page('/limits/json');
is keys %{keys_in($json)}, @uris, 'all limits have rejected';
is_hidden('the JSON page', $json);
is_hidden('the page', page('/limits/'));
is_hidden('the metrics', page('/limits/metrics'));
is_hidden('the log', $nginx->error_log);

$nginx->reload(%conf, server => server($plain), wait_old => 1);
is_deeply keys_in(page('/plain/json')), {map { $_ => undef } @uris}, 'nothing was kept until now';
ask();
is_deeply keys_in(page('/plain/json')), \%key, 'keys=plain shows the keys';
my $plain_page = page('/plain/');
like $plain_page, qr{<code>$key{$_}</code>}, "... on the page, too: $_" for @uris;
is_hidden('the page without keys=plain', page('/limits/'));
is_hidden('the metrics', page('/plain/metrics'));
is_hidden('the JSON page without keys=plain', page('/limits/json'));
is_hidden('the log', $nginx->error_log);

$nginx->reload(%conf, server => server(''), wait_old => 1);
is_hidden('the JSON page', page('/limits/json'));
$nginx->reload(%conf, server => server($plain), wait_old => 1);
is_deeply keys_in(page('/plain/json')), {map { $_ => undef } @uris}, 'what was kept is gone';
is_hidden('the log', $nginx->error_log);

done;

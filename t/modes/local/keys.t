# Keys of the local store are any bytes of any length, and no two share a window: 8 KB, NUL bytes, what looks like the
# parts of another identity. Names, periods and window kinds have windows of their own; limits that agree share one.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('local2') . '
        large_client_header_buffers 4 64k; set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;',
    server => 'location / { rate_limit 1r/h key=$http_x_key; }
        location /uri/ { rate_limit 1r/h key=$uri; error_page 404 =200 /x; }
        location /address/ { alias %%DIR%%/html/; rate_limit 1r/h name=address key=$binary_remote_addr; }
        location /ours/ { alias %%DIR%%/html/; rate_limit 1r/h name=address key=$rate_limit_binary_addr$http_x_key; }
        location /name/ { alias %%DIR%%/html/; rate_limit 1r/h name=other key=$http_x_key; }
        location /period/ { alias %%DIR%%/html/; rate_limit 1r/m key=$http_x_key; }
        location /year/ { alias %%DIR%%/html/; rate_limit 1r/366d key=$http_x_key; }
        location /clock/ { alias %%DIR%%/html/; rate_limit 1r/366d window=clock key=$http_x_key; }
        location /redis/ { alias %%DIR%%/html/; rate_limit 1r/h store=local2 key=$http_x_key; }
        location /same/ { alias %%DIR%%/html/; rate_limit 2r/60m name=default mode=check_charge key=$http_x_key; }',
);

# Each of these is admitted once.
sub once ($what, $uri, @headers) {
    is_deeply [map { $nginx->get($uri, @headers)->status } 1, 2], [200, 429], $what;
    return;
}

my $long = 'k' x 8191;
once('8 KB', '/x', 'X-Key' => "${long}a");
once('8 KB that differ at the end', '/x', 'X-Key' => "${long}b");
once('at the beginning', '/x', 'X-Key' => "a$long");
once('40 KB', '/x', 'X-Key' => $long x 5);
once('a byte', '/x', 'X-Key' => 'k');
once('the bytes ' . join(' ', map { sprintf '%02x', ord } split //, $_), '/x', 'X-Key' => $_)
    for "\xff", "\xff\xfe", "a\tb", "\xc3\xa4", ':', '/', '1/3600:k', 'c:k', '3600:k', '#k', '%00', 'local';
once("the escape $_", "/uri/$_") for '%01', '%0a%0d', '%7f', '%80', '%ff', '%20';
once("the address $_", '/address/x', 'X-Real-IP' => $_) for qw(0.0.0.0 0.0.0.1 1.0.0.0 10.0.0.0 10.0.0.1 10.1.0.1);
is $nginx->get('/ours/x', 'X-Real-IP' => '10.0.0.0')->status, 429, 'the same bytes from another variable';
once('and more after NUL bytes', '/ours/x', 'X-Real-IP' => '10.0.0.0', 'X-Key' => 'a');
shows $nginx->get('/x'), 200, {limit => undef}, 'without bytes the limit does not apply';

once("/$_", "/$_/x", 'X-Key' => 'k') for qw(name period year clock redis);
shows $nginx->get('/same/x', 'X-Key' => 'k'), 200, {limit => 2, used => 2, remaining => 0},
    'who agrees in all shares a window';
is limits($nginx->get('/x', 'X-Key' => 'k'))->{used}, 2, 'both ways';

done;

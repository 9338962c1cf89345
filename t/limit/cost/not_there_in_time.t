# A cost in check_charge that is not there when the response's header is sent, and is when the request ends, is logged once
# for its line, however many locations and workers have the line; one that is never there, or was there in time, is not.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => \&RateLimit::Backend::as_asked);
my $nginx   = RateLimit::Nginx->start(
    workers => 2, up => $backend,
    http => 'map $body_bytes_sent $of_bytes { default ""; "~^([1-9].*)" $1; }
        map $body_bytes_sent $number { default $body_bytes_sent; }
        map $bytes_sent $never { default ""; }
        rate_limit_key all; add_header X-Cost 5;',
    server => 'location /added/ { rate_limit 100000r/h name=added cost=$sent_http_x_cost; location /added/1 { try_files /x =404; } location /added/2 { try_files /x =404; } }
        location /map { rate_limit 100000r/h name=map cost=$of_bytes; try_files /x =404; }
        location /number { rate_limit 100000r/h name=number cost=$number; try_files /x =404; }
        location /never { rate_limit 100000r/h name=never cost=$never; try_files /x =404; }
        location /known { rate_limit 100000r/h name=known cost=$upstream_http_x_cost; proxy_pass http://%%UP%%; }
        location /end { rate_limit 100000r/h name=end cost=$body_bytes_sent; try_files /x =404; }
        location /refund { rate_limit 100000r/h name=refund mode=charge_refund cost=$of_bytes; try_files /x =404; }',
);
sub told ($name) { return $nginx->count_log(qr/the cost of rate limit "$name" in \S+:\d+ .* add "mode=charge_refund"/) }

for my $round (1 .. 30) {
    $nginx->get($_) for qw(/added/1 /added/2 /map /number /never /known?cost=3 /known?cost=0 /known /end /refund);
}
my %told = map { $_ => told($_) } qw(added map number never known end refund);
is_deeply \%told, {added => 1, map => 1, number => 1, never => 0, known => 0, end => 0, refund => 0}, 'what is logged';
is limits($nginx->get('/refund'))->{used}, 30 * 2 + 1, 'the remedy';

done;

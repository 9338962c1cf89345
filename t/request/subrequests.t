# Subrequests of SSI, mirror, slice and addition are neither limited nor counted, not by the console either, even in locations with
# limits of their own, and show the numbers of their request.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $content = join '', 'a' .. 'z';
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my ($from, $to) = ($request->{headers}{range} // '') =~ /bytes=(\d+)-(\d+)/ or return [200, [], 'whole'];
    $to = 25 if $to > 25;
    return [206, ['Content-Range' => "bytes $from-$to/26", ETag => '"e"'], substr $content, $from, $to - $from + 1];
});
my $nginx = RateLimit::Nginx->start(
    http  => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key $http_x_key;',
    files => {
        'page.shtml' => join('|', map { "<!--#include virtual=\"/part/x?$_\" -->" } 1 .. 4)
            . '<!--#echo var="rate_limit_used" -->'
    },
    up => $backend, server => 'location /page.shtml { ssi on; ssi_types *; rate_limit 9r/h name=main; }
        location /mirror/ { alias %%DIR%%/html/; mirror /part/x; mirror /part/y; rate_limit 9r/h name=main; }
        location /slice {
            slice 4; rate_limit 9r/h name=main; rate_limit 99r/h name=late phase=precontent;
            proxy_set_header Range $slice_range; proxy_http_version 1.1; proxy_pass http://%%UP%%;
        }
        location /add/ { alias %%DIR%%/html/; addition_types *; add_after_body /part/x; rate_limit 9r/h name=main; }
        location /limits/ { rate_limit_console view; }
        location /part/ {
            alias %%DIR%%/html/; log_subrequest on;
            rate_limit 1r/h name=part; rate_limit 1r/h name=late2 phase=precontent;
        }',
);

my %body = (
    '/page.shtml' => "x\n|x\n|x\n|x\nUSED", '/mirror/x' => "x\n", '/slice' => $content, '/add/x' => "x\nx\n",
);
for my $uri (sort keys %body) {
    (my $key = $uri) =~ tr{/}{-};
    for my $n (1 .. 2) {
        my $response = $nginx->get($uri, 'X-Key' => $key);
        shows $response, 200, {used => $n}, "$uri: counted once";
        is $response->body, $body{$uri} =~ s/USED/$n/r, "$uri: body";
    }
    wait_until { $redis->used($key, 'main/3600') == 2 } what => "$uri: charges";
}
is scalar($backend->requests), 14, 'slices were fetched by subrequests';
my $told = $nginx->told;
is sum0(values %{$told->{requests}}), 2 * keys %body, 'the console counts no request for them';
is_deeply {map { $_->{name} => sum0(values %{$_->{decisions}}) } @{$told->{limits}}}, {main => 2 * keys %body, late => 2, part => 0, late2 => 0},
    '... and no decision';
$nginx->stop;
is_deeply [grep { /part|late2/ } $redis->keys], [], 'subrequests opened no window';
is $redis->used('-slice', 'main/3600'), 2, 'and no charge comes late';
is $redis->used('-slice', 'late/3600'), 2, 'nor in the precontent phase';

done;

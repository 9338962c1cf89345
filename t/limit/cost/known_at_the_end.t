# A cost in check_charge of what nginx knows only when a request ends is charged as it is then, though something has asked
# for it before; headers show the window without the request.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, [], $request->{uri} =~ /after/ ? 'b' x 5000 : 'a' x 300];
});
my %cost = (
    bytes_sent               => 'x',
    body_bytes_sent          => 'x',
    upstream_response_length => 'up',
    upstream_bytes_received  => 'up',
    upstream_bytes_sent      => 'up',
    sent_trailer_cost        => 'trailer',
);
my %way = (
    x       => 'try_files /x =404;',
    up      => 'proxy_pass http://%%UP%%/;',
    trailer => 'try_files /x =404; add_trailer Cost 12;',
    after   => 'proxy_pass http://%%UP%%/; post_action /after;',
);
my @limits = map { my $name = $_; map { [$name, $_, $cost{$name}], ($cost{$name} eq 'up' ? [$name, $_, 'after'] : ()) } qw(local main) } sort keys %cost;
my $nginx  = RateLimit::Nginx->start(
    up   => $backend,
    http => redis_block('main', $redis) . '
        log_format ends "$request_uri ' . join(' ', map { "$_=\$$_" } sort keys %cost) . '";',
    server => 'access_log %%DIR%%/ends ends; rate_limit_key $uri; location = /after { internal; proxy_pass http://%%UP%%/after; }'
        . join "\n", map {
        my ($name, $store, $way) = @$_;
        "location /$way/$store/$name { rate_limit 100000r/h store=$store name=$way.$store cost=\$$name; add_header X-Early \$$name; $way{$way} }"
    } @limits,
);

for (@limits) {
    my ($name, $store, $way) = @$_;
    my $uri    = "/$way/$store/$name";
    my @shown  = map { limits($nginx->get($uri))->{used} } 1 .. 3;
    my @known  = map { /\b$name=(\d+)/ } grep { m{^$uri } } $nginx->lines('ends');
    my $each = $way eq 'after' ? $shown[1] : $known[0];
    is_deeply \@shown, [0, $each, $each + ($way eq 'after' ? $each : $known[1])], "$uri: each request sees what those before it have cost";
    cmp_ok $each, '>=', 2, "which is known: $each";
    cmp_ok $each, '<', 5000, 'and of the response, not of what came after it' if $way eq 'after';
}
is limits($nginx->get('/x/local/body_bytes_sent'))->{used}, 6, 'a file of two bytes, three times';
is $nginx->get('/trailer/main/sent_trailer_cost')->header('X-RateLimit-Used'), 36, 'a trailer of twelve';
$nginx->stop;
is $redis->used('/up/main/upstream_response_length', 'up.main/3600'), 900, 'charged in Redis';
is $redis->used('/after/main/upstream_response_length', 'after.main/3600'), 900, 'and where another location runs after the response';

done;

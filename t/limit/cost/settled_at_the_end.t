# A cost of what nginx knows only when a request ends is settled as it is then in the modes that charge before the request, also
# where post_action runs another location after the response.

use JSON::PP;
use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, ['X-Cost' => 7], $request->{uri} =~ /after/ ? 'b' x 5000 : 'a' x 300];
});
my %cost = (body_bytes_sent => 300, upstream_response_length => 300, bytes_sent => undef, upstream_bytes_received => undef);
my %line = (
    charge_refund => 'rate_limit 100000r/h mode=charge_refund',
    lease         => 'rate_limit 100000r/h mode=lease',
    bucket        => 'rate_limit 100000r/30d burst=100000 mode=charge_refund',
);
my @cases;
for my $way ('alone', 'after') {
    for my $line (sort keys %line) {
        push @cases, map { my $cost = $_; map { [$way, $line, $cost, $_] } 'local', 'main' } sort keys %cost;
    }
}
my $nginx = RateLimit::Nginx->start(
    up   => $backend,
    http => redis_block('main', $redis) . 'log_format ends "$request_uri ' . join(' ', map { "$_=\$$_" } sort keys %cost) . '";',
    server => 'access_log %%DIR%%/ends ends; rate_limit_key $uri;
        location = /after { internal; proxy_pass http://%%UP%%/after; }' . join("\n", map {
        my ($way, $line, $cost, $store) = @$_;
        "location /$way/$line/$cost/$store { $line{$line} name=$line store=$store cost=\$$cost; proxy_pass http://%%UP%%/; "
            . ($way eq 'after' && 'post_action /after;') . ' }'
    } @cases) . ' location /then { rate_limit off; try_files /x =404; post_action /limited/x; }
        location /limited/ { rate_limit 100000r/h name=limited key=all mode=charge_refund cost=$upstream_http_x_cost; try_files /none @up; }
        location @up { proxy_pass http://%%UP%%; }
        location /report { rate_limit 100000r/h name=limited key=all mode=charge_refund; rate_limit_report; }',
);

for (@cases) {
    my ($way, $line, $cost, $store) = @$_;
    my $uri   = "/$way/$line/$cost/$store";
    my @ends;
    my @used = map {
        my $count = $_;
        my $used  = limits($nginx->get($uri))->{used};
        # The location that post_action runs may last longer than the response.
        wait_until { @ends = grep { m{^$uri } } $nginx->lines('ends'); @ends == $count } what => 'the end of the request';
        $used;
    } 1 .. 3;
    my ($each) = $cost{$cost} // map { /\b$cost=(\d+)/ } @ends;
    my @added = map { $used[$_] - $used[$_ - 1] } 1, 2;
    ok !(grep { abs($_ - $each) > 8 } @added), "$uri: each request has cost about $each" or diag "@used";
}

$nginx->get('/then') for 1 .. 3;
is decode_json($nginx->get('/report')->body)->{rate}{used}, 21, 'in a location that post_action runs the cost is that of its own upstream, behind a redirect too';

done;

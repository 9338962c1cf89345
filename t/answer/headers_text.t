# rate_limit_headers: off, github, ietf, both, with their exact text; upstream fields of the same names are
# replaced, others stay.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, [
        'X-RateLimit-Limit' => 1, 'x-ratelimit-used' => 2, 'X-RATELIMIT-REMAINING' => 3,
        'X-RateLimit-Reset' => 4, 'X-RateLimit-Resource' => 'up', 'X-RateLimit-Resource' => 'up again',
        RateLimit => 'up', 'RateLimit-Policy' => 'up', 'X-RateLimit-Other' => 'up',
    ], 'ok'];
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key k;',
    server => join "\n", map {
        my $backend = $backend->address;
        my $name    = tr/ /-/r;
        my $headers = $_ eq 'default' ? '' : "rate_limit_headers $_;";
        "location /$name/ { $headers alias %%DIR%%/html/; rate_limit 5000r/h name=core; }
         location /rejected/$name/ { $headers rate_limit 5r/h name=full; }
         location /proxy/$name { $headers rate_limit 5000r/h name=core; proxy_pass http://$backend; }"
    } 'default', 'off', 'github', 'ietf', 'github ietf', 'ietf github',
);
my $reset = 1000 * (time + 1800) + 1;
$redis->cmd('HSET', 'rl:core/3600:k', used => 42, reset => $reset);
$redis->cmd('HSET', 'rl:full/3600:k', used => 7, reset => $reset);

sub fields ($response) {
    return {map { lc $_->[0] => $_->[1] }
        grep { $_->[0] =~ /^(?:x-)?ratelimit|^retry-after/i } $response->headers};
}

my $seconds = ($reset - 1) / 1000 + 1;
my $used    = 42;
for my $name (qw(default off github ietf github-ietf ietf-github)) {
    my ($github, $ietf) = (scalar $name =~ /github|default/, scalar $name =~ /ietf/);
    for my $where ("/$name/x", "/proxy/$name") {
        ++$used;
        my $response = $nginx->get($where);
        my $fields   = fields($response);
        my $other    = delete $fields->{'x-ratelimit-other'};
        is $other, 'up', "$where: other fields of the upstream" if $where =~ /proxy/;
        my ($until) = ($fields->{ratelimit} // '') =~ /;t=(\d+)$/;
        cmp_ok abs($until - ($seconds - $response->date)), '<=', 1, "$where: t" if $ietf;
        my %up;
        @up{qw(limit used remaining reset resource)} = (1 .. 4, 'up again') if $where =~ /proxy/;
        my %expected = map { ("x-ratelimit-$_" => $up{$_}) } keys %up;
        @expected{qw(ratelimit ratelimit-policy)} = ('up', 'up') if %up;
        @expected{map { "x-ratelimit-$_" } qw(limit used remaining reset resource)} =
            (5000, $used, 5000 - $used, $seconds, 'core') if $github;
        @expected{qw(ratelimit ratelimit-policy)} =
            (sprintf('"core";r=%d;t=%d', 5000 - $used, $until), '"core";q=5000;w=3600') if $ietf;
        is_deeply $fields, \%expected, "$where: fields";
        my $sent = 5 * !!$github + 2 * !!$ietf + (%up ? 1 + 6 * !$github + 2 * !$ietf : 0);
        is scalar(grep { $_->[0] =~ /^(?:x-)?ratelimit/i } $response->headers), $sent, "$where: each once";
    }

    my $rejected = $nginx->get("/rejected/$name/x");
    my $fields   = fields($rejected);
    my $after    = $fields->{'retry-after'};
    cmp_ok abs($after - ($seconds - $rejected->date)), '<=', 1, "$name, rejected: Retry-After" if $github || $ietf;
    my %expected;
    @expected{map { "x-ratelimit-$_" } qw(limit used remaining reset resource)} =
        (5, 7, 0, $seconds, 'full') if $github;
    @expected{qw(ratelimit ratelimit-policy)} = ("\"full\";r=0;t=$after", '"full";q=5;w=3600') if $ietf;
    $expected{'retry-after'} = $after if $github || $ietf;
    is_deeply $fields, \%expected, "$name, rejected: fields";
}

done;

# Retry-After and the `t` of RateLimit are 1 where a window would have room if no requests were running, as one of them may be over by then; Used and Reset
# are the window's. The log says how many requests run. This holds in each store and mode in which running requests count, alone and beside another limit,
# whether Redis or memory finds it out.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $nowhere = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my $answer = [$request->{uri} =~ /free/ ? 304 : 200, [], ''];
    return $request->{uri} =~ /slow/ ? $conn->hold('gate', $answer) : $answer;
});
my %places = (
    local   => 'rate_limit 3r/h name=local;',
    beside  => 'rate_limit 3r/h name=beside; rate_limit 99r/h name=wide;',
    clock   => 'rate_limit 3r/d window=clock name=clock;',
    read    => 'rate_limit 3r/h name=read store=main;',
    unfresh => 'rate_limit 3r/h name=unfresh store=unfresh;',
    away    => 'rate_limit 3r/h name=away store=away;',
    refund  => 'rate_limit 3r/h name=refund store=away mode=charge_refund;',
    lease   => 'rate_limit 3r/h name=lease store=away mode=lease;',
    dry     => 'rate_limit 3r/h name=dry dry_run=on;',
);
my $nginx = RateLimit::Nginx->start(
    up   => $backend,
    http => redis_block('main', $redis) . redis_block('unfresh', $redis, 'fresh off; prefix other:;') . redis_block('away', $nowhere, 'check_timeout 50ms;') . '
        rate_limit_key $arg_k; rate_limit_headers github ietf; rate_limit_on_error local;',
    server => join '', map { "location /$_ { $places{$_} proxy_pass http://%%UP%%; }" } sort keys %places,
);
$nowhere->kill;

for my $place (sort keys %places) {
    my $status = $place eq 'dry' ? 200 : 429;
    my $answer = sub ($uri = '/quick') { $nginx->get("/$place$uri?k=a") };
    my $refuses = sub ($used, $running, $what) {
        my $response = $answer->();
        my $limits   = limits($response);
        my ($r, $t) = $response->header('RateLimit') =~ /^"$place";r=(\d+);t=(\d+)/;
        is_deeply [$response->status, @$limits{qw(used remaining)}, $r], [$status, $used, 0, 0], "$place: $what";
        is $limits->{retry_after}, $place eq 'dry' ? undef : $t, '... t is Retry-After';
        $running ? is($t, 1, '... which is a second') : cmp_ok($t, '>', 1, '... which is the end of the window');
        my ($words) = (grep { /"$place" exceeded/ } split /\n/, $nginx->error_log)[-1] =~ /: (\d.*), id/;
        is $words =~ s/ in (?:3600|86400) s//r, "$used used of 3" . ($running ? ", $running running" : ''), '... and the log says so';
        return $limits->{reset};
    };
    my @running = map { $nginx->reach($backend, "/$place/slow?k=a") } 1 .. 2;
    push @running, $nginx->reach($backend, "/$place/slow/free?k=a");
    my $reset = $refuses->(0, 3, 'three run, and none is charged');
    cmp_ok $reset, '>', time, '... a window lasts longer';
    is $refuses->(0, 3, 'again') - $reset, 0, '... and so long as before';

    $backend->release('gate');
    is_deeply [map { $_->response->status } @running], [200, 200, 304], "$place: they end";
    push @running, $nginx->reach($backend, "/$place/slow?k=a");
    $refuses->(2, 1, 'two are charged, and one runs');
    $backend->release('gate');
    $running[-1]->response;
    $refuses->(3, 0, 'three are charged');
}

done;

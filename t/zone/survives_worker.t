# Workers are killed under load: no request of another worker waits for them, what they charged stays, and each request that
# was admitted counts, so that no more pass than the limit says. What a killed worker had in flight counts until its window ends,
# and no longer.

use RateLimit::Test;

my $connections = 32;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('gate', [200, [], 'slow']) });
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    clock   => 1,
    http    => 'rate_limit_key $http_x_key; rate_limit_log_level info; keepalive_requests 1000000;',
    log_level => 'notice',
    server  => 'location / { rate_limit 1000000r/h name=after; }
        location /before/ { alias %%DIR%%/html/; rate_limit 1000000r/h name=before mode=charge_refund; }
        location /look/ { alias %%DIR%%/html/; rate_limit 1000000r/h name=after cost=0; }
        location /tight/ { alias %%DIR%%/html/; rate_limit 2000r/h name=tight; }
        location /slow/ { rate_limit 3r/h name=slow; proxy_pass http://' . $backend->address . '; }
        location /few/ { alias %%DIR%%/html/; rate_limit 3r/h name=slow; }',
);

sub shown ($uri, $key) { return limits($nginx->get($uri, 'X-Key' => $key))->{used} }

# Requests of their own process for as long as a file is not there; what they got is written to another one.
my $folder = $nginx->folder;
sub load ($uri) {
    my $file = $folder . '/seen' . $uri =~ tr{/}{-}r;
    return RateLimit::Process->start(name => "load on $uri", run => sub {
        my %count = (0 => 0, 200 => 0, 429 => 0);
        while (!-e "$folder/enough") {
            my $more = statuses($nginx->parallel(
                connections => $connections, requests => 2000, uri => $uri, headers => ['X-Key' => 'k']));
            $count{$_} += $more->{$_} for keys %$more;
        }
        write_text($file, join ' ', %count);
    });
}

my @uris  = ('/before/x', '/tight/x', '/x');
my @loads = map { load($_) } @uris;
my $kills = 6;
my $least = 200;
wait_until { shown('/look/x', 'k') >= $least } what => 'the load';
for (1 .. $kills) {
    $nginx->kill_worker;
    my $used = shown('/look/x', 'k');
    cmp_ok $used, '>=', $least, 'a killed worker: the others go on counting';
    $least = $used + 200;
    wait_until { shown('/look/x', 'k') >= $least } what => 'further requests';
}
write_text("$folder/enough", '');
$_->wait(30) or die 'the load does not end' for @loads;

my %used = ('/before/x' => shown('/before/x', 'k') - 1, '/x' => shown('/look/x', 'k'));
for my $uri (@uris) {
    my %count = split ' ', read_text($folder . '/seen' . $uri =~ tr{/}{-}r);
    cmp_ok $count{0}, '<=', $kills * $connections, "$uri: only requests of killed workers got no answer";
    if ($uri eq '/tight/x') {
        cmp_ok $count{200}, '<=', 2000, "$uri: no more than the limit";
        cmp_ok $count{200} + $count{0}, '>=', 2000, "$uri: and no fewer, but for those";
        next;
    }
    diag "$uri: $count{200} passed, $used{$uri} used, $count{0} unanswered";
    cmp_ok $used{$uri}, '>=', $count{200}, "$uri: whoever got through counts";
    cmp_ok $used{$uri}, '<=', $count{200} + $count{0}, "$uri: and nobody twice";
}
my $slow = $nginx->reach($backend, '/slow/x', 'X-Key' => 's');
is shown('/few/x', 's'), 2, 'it counts';
$nginx->kill_worker($_) for $nginx->workers;
is shown('/few/x', 's'), 3, 'and still does when its worker is killed';
is $nginx->get('/few/x', 'X-Key' => 's')->status, 429, 'so that nobody gains by it';
$nginx->travel('+3700');
wait_until { $nginx->get('/few/x', 'X-Key' => 's')->status == 200 } what => 'the next window';
is shown('/few/x', 's'), 2, 'where it is forgotten';

done;

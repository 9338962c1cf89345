# A reservation whose request is gone when it is granted is given back; one whose request went on without it is its
# charge. Nothing is reserved or charged twice. One that was sent and not answered is in doubt.

use RateLimit::Test;

# The scripts by their number of arguments.
my %script = (10 => 'reserve', 8 => 'charge', 7 => 'repair', 9 => 'refund');
my $reset  = (time + 1800) . '123';
my ($redis, $other) = map {
    RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        my $greets = $words->[0] !~ /^eval/;
        return $conn->hold('gate', fallback($words)) if $greets && $conn->state('silent');
        my $script = $words->[0] =~ /^eval/ ? $script{@$words} : '';
        return array(integer(1), integer($reset)) if $script eq 'charge' || $script eq 'refund';
        return fallback($words) if $script ne 'reserve';
        my $grant = array(integer($words->[5]), integer($words->[5] + 2), integer($reset));
        return $words->[3] =~ m{default/.*held} ? $conn->hold('gate', $grant) : $grant;
    })
} 1, 2;
my $backend = RateLimit::Backend->start;
my $hasty   = 'check_timeout 200ms; charge_timeout 20s; connect_timeout 5s;';
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('patient', $redis, timeouts('20s')) . redis_block('other', $other, timeouts('20s'))
        . redis_block('hasty', $redis, $hasty) . redis_block('greeting', $other, $hasty)
        . 'rate_limit_mode charge_refund; rate_limit_key $http_x_key; rate_limit_cost 3;
           add_header X-Outcome $rate_limit_status always; log_format end "$status $http_x_key";',
    server => 'access_log %%DIR%%/ends end;
        location / { rate_limit 10r/h store=patient; }
        location /deny { rate_limit 10r/h store=patient; rate_limit_on_error deny; }
        location /two { rate_limit 10r/h store=other name=at-once; rate_limit 10r/h store=patient; }
        location /hasty { rate_limit 10r/h store=hasty; }
        location /hasty/slow { rate_limit 10r/h store=hasty; proxy_pass http://' . $backend->address . '; }
        location /greeting { rate_limit 10r/h store=greeting; }
        location /hasty/deny { rate_limit 10r/h store=hasty; rate_limit_on_error deny; }',
);

# What scripts were called for the key: [script, first argument, last argument; of a refund the window's end].
sub calls ($key, $script, $of = $redis) {
    return map { [@$_[4, @$_ == 9 ? 5 : -1]] } grep { @$_ > 5 && $_->[3] =~ /:\Q$key\E$/ && $script{@$_} eq $script }
        map { $of->commands($_) } qw(evalsha eval);
}

# What the key was charged in all.
sub net ($key, $of = $redis) {
    my $sum = sum0(map { $_->[0] } calls($key, 'charge', $of));
    $sum -= $_->[0] for calls($key, 'refund', $of);
    return $sum + 3 * calls($key, 'reserve', $of);
}

sub start ($uri, $key, @headers) { return $nginx->begin($uri, 'X-Key' => $key, @headers) }

sub ask ($uri, $key, @headers) {
    my $http = start($uri, $key, @headers);
    wait_until { calls($key, 'reserve') } what => "the reservation of $key";
    return $http;
}

sub leave ($http, $key) { return $nginx->abandon($http, 'ends', "499 $key") }

sub given_back ($key, $cost, @redis) {
    wait_until { calls($key, 'refund', @redis) } what => "what $key was granted to come back";
    return is_deeply [calls($key, 'refund', @redis)], [[$cost, $reset]], "$key: it is given back, to its window";
}

my $usable = 0;
sub usable () {
    return wait_until { outcome(start('/hasty', 'probe' . ++$usable)->response) eq '200 PASSED' } what => 'a probe';
}

leave(ask('/x', 'held-gone'), 'held-gone');
is_deeply [calls('held-gone', 'refund')], [], 'a client leaves: nothing is granted yet';
$redis->release('gate');
given_back('held-gone', 3);

my $two = ask('/two', 'held-two');
wait_until { calls('held-two', 'reserve', $other) } what => 'the reservation that is granted';
leave($two, 'held-two');
given_back('held-two', 3, $other);
$redis->release('gate');
given_back('held-two', 3);

usable();
for (
    ['/hasty', 'held-allow', '200 ERROR_ALLOWED', 'no answer in check_timeout: it passes'],
    ['/hasty', 'held-exempt', '304 ERROR_ALLOWED', 'so does one that is exempt', 'If-None-Match' => '*'],
    ['/hasty/deny', 'held-deny', '503 ERROR_DENIED', 'or it is denied'],
) {
    my ($uri, $key, $outcome, $what, @headers) = @$_;
    is outcome(ask($uri, $key, @headers)->response), $outcome, $what;
    $redis->release('gate');
    given_back($key, 3) if $outcome !~ /^200/;
    usable();
}
my $late = ask('/hasty/slow', 'held-slow');
wait_until { $backend->requests } what => 'who goes on without an answer';
$redis->release('gate');
usable();
$backend->release('gate');
is outcome($late->response), '200 ERROR_ALLOWED', 'and is still there when it comes';

$other->set(silent => 1);
is outcome(start('/greeting', 'greeted')->response), '200 ERROR_ALLOWED', 'a primary that does not greet';
$other->set(silent => '');
$other->release('gate');
wait_until { net('greeted', $other) == 3 } what => 'its charge';

for (['/x', '200 ERROR_ALLOWED'], ['/deny', '503 ERROR_DENIED']) {
    my ($uri, $outcome) = @$_;
    my $http = ask($uri, "held-lost$uri");
    $redis->drop(1);
    is outcome($http->response), $outcome, "$uri: the connection breaks";
    wait_until { outcome(start($uri, "next$uri")->response) eq '200 PASSED' } what => 'the next connection';
}
$nginx->wait_log(qr/1 reservations for primary .* they are in doubt, clients may have been charged for nothing/);
$nginx->stop;

my @keys = qw(held-gone held-two held-allow held-exempt held-deny held-slow held-lost/x held-lost/deny);
is_deeply [map { scalar calls($_, 'reserve') } @keys], [(1) x @keys], 'each is reserved once';
is_deeply [map { net($_) } @keys], [0, 0, 3, 0, 0, 3, 3, 3], 'who passed was charged once, others were not';
is_deeply [map { scalar calls($_, 'charge') } @keys[-2, -1]], [0, 0], 'what is in doubt is not charged again';
is_deeply [net('held-two', $other), net('greeted', $other)], [0, 3], 'in the other Redis neither';

done;

# More workers than have places in the zone, which are 32 where one worker was configured when it was made: in those that have no place in it rate_limit_on_error decides about
# running requests, in either store, as the log says. In the others limits hold, and where workers leave, their places are free again.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, reuseport => 1, http => redis_block('main', $redis),
    server => 'rate_limit_key $arg_k; rate_limit_on_error deny; rate_limit_log_level info;
        add_header X-Outcome $rate_limit_status always; add_header X-Worker $pid always;' . join '', map {
            my $limit = "rate_limit_concurrency 3 name=of-$_ store=$_";
            "location /$_ { $limit; proxy_pass http://%%UP%%; }
             location /allow-$_ { rate_limit_on_error allow; $limit; proxy_pass http://%%UP%%; }"
        } qw(local main));

# Which outcomes each worker told, of requests of a key each: of so many that none of 40 workers gets none of them.
my $asked = 0;
my sub told ($uri, $requests = 1200) {
    my %told;
    for my $response ($nginx->parallel(keepalive => 0, connections => 10, requests => [map { ["$uri?k=" . $asked++] } 1 .. $requests])) {
        $told{$response->header('X-Worker')}{outcome($response)} = 1;
    }
    return map { join ' ', sort keys %$_ } values %told;
}
my sub count ($outcome, @told) { return scalar grep { $_ eq $outcome } @told }

my $old = $nginx->reach($backend, '/local/slow?k=old');
$nginx->reload(workers => 40);
for my $store (qw(local main)) {
    my @told   = told("/$store");
    my $passed = count('200 PASSED', @told);
    is $passed, 31, "$store: as many workers count as there are places, besides the one that is leaving";
    is count('503 ERROR_DENIED', @told), @told - $passed, '... in the others nobody can check';
    cmp_ok @told - $passed, '>', 0, '... of which there are ' . (@told - $passed);
    is count('200 ERROR_ALLOWED', told("/allow-$store")), @told - $passed, '... and allow allows';
    $nginx->wait_log(qr/rate limit "of-$store" in \S+ could not be checked: more workers count running requests than "rate_limit_zone" has places for/);

    my @open;
    wait_until {
        my $before = $backend->requests;
        my $http   = $nginx->begin("/$store/slow?k=a");
        wait_until { $backend->requests > $before || !$http->quiet(0.001) } what => 'a request';
        push @open, $http if $backend->requests > $before;
        @open == 3
    } what => 'three to run';
    my %count = %{outcomes($nginx->parallel(keepalive => 0, connections => 10, requests => 100, uri => "/$store?k=a"))};
    is_deeply [sort keys %count], ['429 REJECTED', '503 ERROR_DENIED'], "$store: with three that run no worker lets in another";
    $_->abort for @open;
}
$backend->release('gate');
is outcome($old->response), '200 PASSED', 'the request of before ends';

$nginx->reload(workers => 2, wait_old => 1);
is_deeply [told("/$_", 40)], [('200 PASSED') x 2], "$_: all workers count, as those before have left" for qw(local main);

done;

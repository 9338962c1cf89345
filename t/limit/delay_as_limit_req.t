# delay= decides and delays as limit_req does. limit_req looks at each request in a dry run, in the same turn of the event loop: its own log line says by which
# excess it would have delayed it.

use RateLimit::Test;
use List::Util qw(max);
use Time::HiRes qw(sleep);

my $rate  = 10;
my $nginx = RateLimit::Nginx->start(
    http => 'log_format ends "$arg_n $status $limit_req_status $rate_limit_delayed $request_time $msec";
        limit_req_zone $arg_k zone=all:1m rate=10r/s; limit_req_zone $arg_k zone=some:1m rate=10r/s; limit_req_zone $arg_k zone=none:1m rate=10r/s;
        limit_req_dry_run on; limit_req_log_level warn; rate_limit_key $arg_k; rate_limit_status 503;
        limit_req_zone $arg_k zone=real:1m rate=10r/s;',
    server => 'access_log %%DIR%%/ends ends;
        location /all/  { alias %%DIR%%/html/; limit_req zone=all burst=5;          rate_limit 10r/s burst=6 delay=all exempt=off name=all; }
        location /some/ { alias %%DIR%%/html/; limit_req zone=some burst=5 delay=2; rate_limit 10r/s burst=6 delay=3 exempt=off name=some; }
        location /none/ { alias %%DIR%%/html/; limit_req zone=none burst=5 nodelay; rate_limit 10r/s burst=6 exempt=off name=none; }
        location /theirs/ { alias %%DIR%%/html/; limit_req_dry_run off; limit_req zone=real burst=5; }');
my %at_once = (all => 0, some => 2, none => 5);    # of limit_req's excess
my $round = 0;

# Returns the excess of the requests that limit_req lets pass, which it does not log. No request waits, so the log has them in the order in
# which they came.
sub excesses (@lines) {
    my ($of_last, $last, %excess);
    for (@lines) {
        my ($n, undef, $theirs, undef, undef, $now) = split / /;
        $excess{$n} = defined $last ? max(0, $of_last - $rate * ($now - $last) + 1) : 0;
        ($of_last, $last) = ($excess{$n}, $now) if $theirs ne 'REJECTED_DRY_RUN';
    }
    return %excess;
}

# Sends requests of one key, and compares what became of each. `arrive` sends /x?k=KEY&n=NUMBER for each number.
sub compare ($place, $what, $arrive) {
    for (1 .. 10) {
        my $key   = "$place" . ++$round;
        my $count = $arrive->("/$place/x?k=$key");
        my @lines = wait_until { my @now = grep { /^$key-/ } $nginx->lines('ends'); @now == $count && \@now } what => 'the log';
        my ($failed, $tied, %seen) = (0, 0);
        my %excess = $place eq 'none' ? excesses(@{$lines[0]}) : ();
        my $log = $nginx->error_log;
        $excess{$2} = $1 while $log =~ /requests?, dry run, excess: ([\d.]+),? by zone .*[?&]n=($key-\d+) /g;
        for (@{$lines[0]}) {
            my ($n, $status, $theirs, $delayed) = split / /;
            my $excess = $excess{$n} // 0;
            my $rejects = $theirs eq 'REJECTED_DRY_RUN';
            my $wait = $rejects || $excess <= $at_once{$place} ? 0 : ($excess - $at_once{$place}) / $rate;
            ++$seen{$rejects ? 'rejected' : $wait ? 'delayed' : 'passed'};
            next if $rejects == ($status == 503) && abs($delayed - $wait) <= 0.005;
            # The clocks of both are of whole milliseconds, which do not change at the same moment.
            ++$tied, next if $rejects != ($status == 503) && abs($excess - 5) <= 0.03;
            ++$failed;
            diag "$n: $status after $delayed, and limit_req: $theirs with an excess of $excess";
        }
        next if $tied;
        is $failed, 0, "/$place/, $what: " . join ', ', map { "$seen{$_} $_" } sort keys %seen;
        return \%seen;
    }
    return fail "/$place/, $what: each time a request came in the very millisecond in which there is room";
}

# The number of a request names its key, too.
sub target ($uri, $n) { my ($key) = $uri =~ /k=(\w+)/; return "$uri&n=$key-$n" }

sub waves ($uri) {
    my $n = 0;
    for my $size (3, 9, 8) {
        my @targets = map { [target($uri, ++$n)] } 1 .. $size;
        $nginx->parallel(connections => $size, requests => \@targets, keepalive => 0);
        sleep 0.13;
    }
    return $n;
}

sub poisson ($uri) {
    my @clients;
    for my $n (1 .. 40) {
        push @clients, $nginx->begin(target($uri, $n));
        sleep(-log(1 - rand) / (1.4 * $rate));
    }
    $_->response for @clients;
    return scalar @clients;
}

sub closed_loop ($uri) {
    $nginx->parallel(connections => 5, requests => [map { [target($uri, $_)] } 1 .. 25]);
    return 25;
}

for my $place (sort keys %at_once) {
    my $waves = compare($place, 'waves', \&waves);
    ok $waves->{rejected}, '... some of which are rejected';
    ok $waves->{delayed}, '... and some wait' if $place ne 'none';
    compare($place, 'Poisson', \&poisson);
    my $closed = compare($place, 'closed loop', \&closed_loop);
    ok $closed->{delayed}, '... in which most wait' if $place ne 'none';
}

# Both modules are also compared in real time, side by side: as many requests pass, in the order of their turns, and none
# before its turn.
for my $place (qw(all theirs)) {
    $nginx->parallel(connections => 9, keepalive => 0, requests => [map { ["/$place/x?k=side&n=side-$place-$_"] } 1 .. 9]);
    my @ends = map { [split / /] } @{(wait_until { my @now = grep { /^side-$place-/ } $nginx->lines('ends'); @now == 9 && \@now } what => 'the log')};
    is_deeply [sort map { $_->[1] } @ends], [(200) x 6, (503) x 3], "/$place/: six pass";
    my @took = map { $_->[4] } grep { $_->[1] == 200 } @ends;
    cmp_ok $took[$_] + 0.003, '>=', $_ / $rate - 0.1, "... number $_ not before its turn" for 1 .. 5;
}

done;

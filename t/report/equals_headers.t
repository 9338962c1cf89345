# A report shows of a limit what the headers of the next request show, but for that request itself: in each mode and store, with both kinds
# of window, at 0, in the middle, at the limit, over it, and for a limit of 0. A report changes nothing.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my @limits = map { my $store = $_; map { my $mode = $_; map { "$store-$mode-$_" } qw(first clock) } qw(check_charge charge_refund lease) } qw(local main);
my %line   = map { my ($store, $mode, $kind) = split /-/; ($_ => "rate_limit \$arg_rate name=$_ store=$store mode=$mode window=$kind;") } @limits;
my $nginx  = RateLimit::Nginx->start(
    http   => redis_block('main', $redis),
    server => "rate_limit_key \$http_x_key; location = /report { rate_limit_report; @line{@limits} }"
        . join '', map { "location /$_ { $line{$_} }" } @limits,
);

my sub is_next ($limit, $rate, $used, $what) {
    my $told    = $nginx->get("/report?rate=$rate", 'X-Key' => 'a')->json->{resources}{$limit};
    my $next    = $nginx->get("/$limit?rate=$rate", 'X-Key' => 'a');
    my $shown   = limits($next);
    my $charged = $next->status == 200 ? 1 : 0;
    is $told->{used}, $used, "$limit, $what: what is used";
    is_deeply [$told->{limit}, $told->{used}, $told->{remaining}],
        [$shown->{limit}, $shown->{used} - $charged, $shown->{remaining} + $charged], '... as the next request shows it';
    if ($used) { is $told->{reset}, $shown->{reset}, '... until then' }
    else       { ok $shown->{reset} - $told->{reset} < patience(3), '... until about then' }
    return;
}

# The test waits until no window of the clock can end before it is over.
wait_until { time % 3600 < 3600 - patience(20) } what => 'the next hour', timeout => 60;
for my $limit (@limits) {
    is_next($limit, '5r/h', 0, 'at 0');
    is_next($limit, '5r/h', 1, 'after one');
    $nginx->get("/$limit?rate=5r/h", 'X-Key' => 'a') for 1 .. 2;
    is_next($limit, '5r/h', 4, 'before the last');
    is_next($limit, '5r/h', 5, 'at the limit');
    is_next($limit, '2r/h', 5, 'over it');
    is_next($limit, '0r/h', 0, 'of 0');
}
is $redis->used('a', "$_/3600"), 5, "$_: nothing was charged for reports" for grep { /main-.*first/ } @limits;

done;

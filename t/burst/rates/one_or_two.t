# A client that keeps to the rate, some of whose requests come a millisecond early: a bucket of 1 rejects those, and one of 2 none.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    clock  => 1, http => 'rate_limit_key all;',
    server => join '', map { "location /$_ { rate_limit 10r/s burst=$_ name=of-$_; }" } 1, 2,
);

# Whether what comes then passes: after so many seconds.
my sub passes ($burst, $after) {
    $nginx->stand_at(1_800_000_000 + $after);
    return $nginx->get("/$burst")->status != 429 ? 1 : 0;
}
is_deeply [map { passes(1, $_) } 0, 0.1, 0.2, 0.299, 0.3, 0.4], [1, 1, 1, 0, 1, 1], 'a bucket of 1: what comes early is rejected';
is_deeply [map { passes(2, $_) } 0, 0.1, 0.2, 0.299, 0.4, 0.499, 0.6], [(1) x 7], 'a bucket of 2: nothing is';
is_deeply [map { passes(2, $_) } 10, 10, 10], [1, 1, 0], '... and two come at once';

done;

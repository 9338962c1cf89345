# The figures that a bucket shows agree with each other, whatever it decides: Used = Limit - Remaining, Remaining is 0 where it refuses a cost that could
# fit, and the fields of both styles and all variables give the same numbers. This holds in each store and mode, with and without a dry run, for costs that
# fit, that do not fit now, and that never will.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $nowhere = RateLimit::Redis->start;
my %modes   = (
    local         => 'store=local', main => 'store=main', lease => 'store=main mode=lease',
    'local-lease' => 'store=local mode=lease', away => 'store=away', 'away-lease' => 'store=away mode=lease',
);
my @numbers = qw(limit used remaining reset);
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . redis_block('away', $nowhere, 'check_timeout 50ms;') . '
        rate_limit_key $arg_k; rate_limit_cost $arg_c; rate_limit_headers github ietf; rate_limit_on_error local;
        add_header X-Variables "' . join(' ', map { "\$rate_limit_$_" } @numbers) . '" always;
        add_header X-All $rate_limit_all always; add_header X-Outcome $rate_limit_status always;',
    server => join '', map { my $mode = $_; map { "location /$mode-$_ { rate_limit 400r/h burst=400 name=$mode $modes{$mode} dry_run=$_; }" } qw(on off) } sort keys %modes,
);
$nowhere->kill;

my $seen = 0;
for my $mode (sort keys %modes) {
    for my $dry_run (qw(off on)) {
        my %statuses;
        for my $cost (0, 1, 397, 3, 399, 401, 0, 350, 1, 390, 20) {
            my $response = $nginx->get("/$mode-$dry_run?k=$mode-$dry_run&c=$cost");
            my $limits   = limits($response);
            my $what     = "$mode, dry run $dry_run, a cost of $cost: " . $response->header('X-Outcome');
            $statuses{$response->header('X-Outcome')}++;
            my $refused = $response->header('X-Outcome') =~ /^REJECTED/;
            my ($all)   = $response->header('X-All')     =~ m{:(\d+)/400$};
            my ($r, $t) = $response->header('RateLimit') =~ /;r=(\d+);t=(\d+)$/;
            my $retry = $limits->{retry_after} // $t;
            is_deeply [@$limits{qw(limit used)}, $r, $all, $retry], [400, 400 - $limits->{remaining}, $limits->{remaining}, $limits->{used}, $t],
                "$what: all fields agree";
            is $response->header('X-Variables'), join(' ', @$limits{@numbers}), '... and the variables';
            is $limits->{remaining}, 0, '... nothing remains' if $refused && $cost < 380;
            $seen++ if $refused && $cost < 380;
        }
        cmp_ok scalar(keys %statuses), '>', 1, "$mode, dry run $dry_run: " . join ' ', map { "$_ $statuses{$_}" } sort keys %statuses;
    }
}
cmp_ok $seen, '>', 12, 'refusals of what could fit later';

done;

# window=local: windows are days, weeks and months of the time zone that nginx runs in, in every mode and store. A day has 23 or 25
# hours where summer time begins or ends. Weeks by the clock are those of UTC; all of them begin on Monday.

use RateLimit::Test;
use JSON::PP;
use POSIX qw(mktime tzset);
use Time::Local qw(timegm);

local $ENV{TZ} = 'CET-1CEST,M3.5.0,M10.5.0/3';
tzset();
my $redis = RateLimit::Redis->start;
my %how   = (map({ ($_ => "store=main mode=$_") } qw(check_charge charge_refund lease)), local => 'store=local');
my $nginx = RateLimit::Nginx->start(
    clock  => 1, env => {TZ => $ENV{TZ}},
    http   => redis_block('main', $redis) . 'rate_limit_key $http_x_key; rate_limit_headers github ietf;',
    server => join "\n", 'location /limits/ { rate_limit_console manage; }',
        'location /now { alias %%DIR%%/html/x; }',
        'location /week/ { alias %%DIR%%/html/; rate_limit 2r/week name=week window=clock store=main; }',
        'location /closed/ { alias %%DIR%%/html/; rate_limit 0r/d name=closed window=local store=main; }',
        'location /variable { alias %%DIR%%/html/; rate_limit $arg_r name=variable window=local store=main; rate_limit_on_error deny; }',
        map { my $mode = $_; map { "location /$mode-$_/ { alias %%DIR%%/html/; rate_limit 2r/$_ name=$mode-$_ window=local $how{$mode}; }" } qw(d week month) } sort keys %how);
like $nginx->error_log, qr/\[notice\].*"window=local" in \S+ goes by the time zone that nginx runs in \(CES?T, UTC\+0\d00 now\): let all machines that share the limit run in the same/,
    'the zone is told';

sub midnight ($year, $month, $day) { return mktime(0, 0, 0, $day, $month - 1, $year - 1900, 0, 0, -1) }
sub ask ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key) }
sub travel ($to) {
    $nginx->travel('+' . ($to - time));
    wait_until { abs($nginx->get('/now')->date - $to) < 900 } what => 'the time';
}
sub post ($body) { return $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded') }

my $year = 2 + (gmtime)[5] + 1900;
# The last Sundays of March and of October, the Mondays behind them.
my ($spring, $autumn) = map { my $month = $_; my ($day) = grep { (gmtime timegm(0, 0, 0, $_, $month - 1, $year))[6] == 0 } reverse 25 .. 31; [$month, $day] } 3, 10;
for my $case (['23 hours', 23, @$spring], ['25 hours', 25, @$autumn], ['24 hours', 24, 6, 16]) {
    my ($name, $hours, $month, $day) = @$case;
    my ($begin, $end) = map { midnight($year, $month, $day + $_) } 0, 1;
    is $end - $begin, $hours * 3600, "a day of $name";
    for my $at ($begin + 60, $end - 600) {
        travel($at);
        for my $mode (sort keys %how) {
            my @answers = map { ask("/$mode-d/x", "$at") } 1 .. 3;
            is_deeply [map { $_->status } @answers], [200, 200, 429], "$name, $mode: two pass";
            is_deeply [map { limits($_)->{reset} } @answers], [($end) x 3], '... until the day ends';
            cmp_ok abs(limits($answers[2])->{retry_after} - ($end - $answers[2]->date)), '<=', 1, '... as Retry-After says';
            is $answers[0]->header('RateLimit-Policy'), "\"$mode-d\";q=2", '... and the policy has no length';
        }
    }
}

# The last day of October, in a week that summer time has ended before.
my $at = midnight($year, $autumn->[0], $autumn->[1]) + 3600;
my ($monday, $first) = (midnight($year, $autumn->[0], $autumn->[1] + 1), midnight($year, 11, 1));
travel($at);
for my $mode (sort keys %how) {
    is limits(ask("/$mode-week/x", 'one'))->{reset}, $monday, "$mode: a week ends on Monday";
    is limits(ask("/$mode-month/x", 'one'))->{reset}, $first, "$mode: a month on its last day";
}
is limits(ask('/week/x', 'one'))->{reset}, timegm(0, 0, 0, $autumn->[1] + 1, $autumn->[0] - 1, $year), 'of UTC an hour later';
is limits(ask('/closed/x', 'one'))->{reset}, $monday, 'a rate of 0 is closed until the day ends';
is limits(ask('/variable?r=9r/week', 'one'))->{reset}, $monday, 'a week that a variable brings';
is ask('/variable?r=9r/h', 'one')->status, 503, 'an hour is none of the local time';
ok $nginx->count_log(qr/could not be checked: invalid rate "9r\/h": windows of the local time are days, weeks or months, such as 1000r\/d/), '... as the log says';
wait_until { $redis->cmd('EXISTS', 'rl:check_charge-month/monthl:one') } what => 'charges';
my @keys = grep { /one$/ } $redis->keys;
is_deeply [sort @keys], [sort map({ ("rl:$_-week/weekl:one", "rl:$_-month/monthl:one") } grep { $_ ne 'local' } keys %how), 'rl:week/weekc:one', 'rl:variable/weekl:one'], 'keys say it';

# The console.
is ask("/check_charge-d/x", 'seen')->status, 200, 'a request';
my ($rates) = map { $_->{rates} } grep { $_->{name} eq 'check_charge-d' } @{decode_json($nginx->get('/limits/json')->body)->{limits}};
is_deeply $rates, [{limit => 2, period => 'day'}], 'the rate as JSON';
like $nginx->get('/limits/metrics')->body, qr/_limit\{limit="lease-week",store="main",period="week"\} 2\n/, 'as a metric';
like $nginx->get('/limits/')->body, qr/2 per day/, 'on the page';
wait_until { $redis->cmd('EXISTS', 'rl:check_charge-d/dayl:seen') } what => 'its charge';
my $seen = decode_json(post('key=seen&limit=check_charge-d')->body)->{windows}[0];
is_deeply [@$seen{qw(period window used reset)}], ['day', 'local', 1, $monday], 'a look-up has the window';
is post('do=reset&key=seen&limit=check_charge-d&period=day')->status, 200, 'a reset by its period';

done;

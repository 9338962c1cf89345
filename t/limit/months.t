# window=clock with a rate by month: windows are the months of the UTC calendar, of 28 to 31 days, in every mode and store. The IETF policy has no `w`. The
# console calls their period `month`, and acts take it by that name.

use RateLimit::Test;
use JSON::PP;
use Time::Local qw(timegm);

my $redis = RateLimit::Redis->start;
my @modes = qw(check_charge charge_refund lease local);
my $nginx = RateLimit::Nginx->start(
    clock  => 1,
    http   => redis_block('main', $redis) . 'rate_limit_key $http_x_key; rate_limit_headers github ietf;',
    server => join "\n", 'location /limits/ { rate_limit_console manage; }',
        'location /variable { alias %%DIR%%/html/; rate_limit $arg_r name=variable window=clock store=main; }',
        'location /first { alias %%DIR%%/html/; rate_limit $arg_r name=first store=main; rate_limit_on_error deny; }',
        'location /days/ { alias %%DIR%%/html/; rate_limit 2r/31d name=local window=clock; }',
        map { my $how = $_ eq 'local' ? 'store=local' : "store=main mode=$_"; "location /$_/ { alias %%DIR%%/html/; rate_limit 2r/month name=$_ window=clock $how; }" }
        @modes);

my sub midnight ($year, $month, $day = 1) { return timegm(0, 0, 0, $day, $month - 1, $year) }
my sub ask ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key) }
my sub travel ($to) {
    $nginx->travel('+' . ($to - time));
    wait_until { abs(ask('/variable?r=9r/s', 'clock')->date - $to) < 900 } what => 'the time';
}
my sub post ($body) {
    my $response = $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded');
    return $response->status == 200 ? decode_json($response->body) : $response->status . ' ' . $response->body;
}

my $year = 1901 + (gmtime)[5];
++$year while $year % 4;    # a leap year after this one
for my $case (
    ['the last hour of a month of 31 days', midnight($year, 2) - 3600, midnight($year, 2)],
    ['the begin of a February of 29',       midnight($year, 2) + 3600, midnight($year, 3)],
    ['its leap day',                        midnight($year, 2, 29),    midnight($year, 3)],
    ['its last hour',                       midnight($year, 3) - 3600, midnight($year, 3)],
    ['a month of 30',                       midnight($year, 4, 30),    midnight($year, 5)],
    ['the end of a year',                   midnight($year + 1, 1) - 3600, midnight($year + 1, 1)],
    ['a February of 28',                    midnight($year + 1, 2, 28), midnight($year + 1, 3)])
{
    my ($name, $at, $end) = @$case;
    travel($at);
    for my $mode (@modes) {
        my @answers = map { ask("/$mode/x", "$at") } 1 .. 3;
        is_deeply [map { $_->status } @answers], [200, 200, 429], "$name, $mode: two pass";
        is_deeply [map { limits($_)->{reset} } @answers], [($end) x 3], '... until the month ends';
        cmp_ok abs(limits($answers[2])->{retry_after} - ($end - $answers[2]->date)), '<=', 1, '... as Retry-After says';
        is $answers[0]->header('RateLimit-Policy'), "\"$mode\";q=2", '... and the policy has no length';
    }
}

travel(midnight(++$year, 3, 31));
is ask("/$_/x", 'one')->status, 200, "$_ in March" for (@modes) x 2;
is ask("/$_/x", 'one')->status, 429, "$_ has no more" for @modes;
travel(midnight($year, 4) + 60);
is ask("/$_/x", 'one')->status, 200, "$_ in April: the next month" for @modes;

# A period of 31 days by the clock is another window, and so is a limit that a variable brings.
is ask('/days/x', 'one')->status, 200, '31 days are no month' for 1 .. 2;
is limits(ask('/variable?r=5r/month', 'v'))->{reset}, midnight($year, 5), 'a month that a variable brings';
wait_until { $redis->cmd('EXISTS', 'rl:variable/monthc:v') } what => 'its charge';
is ask('/first?r=5r/month', 'v')->status, 503, '... is no rate under window=first';
ok $nginx->count_log(qr/could not be checked: invalid rate "5r\/month": a week or a month is one of the calendar: add "window=clock"/), '... as the log says';
is_deeply [sort grep { !/:clock$|:1\d+$/ } $redis->keys], [sort map { "rl:$_" } 'variable/monthc:v', map { "$_/monthc:one" } @modes[0 .. 2]], 'keys say it';
ok $nginx->count_log(qr/rate limit "local" exceeded: 2 used of 2 in a month, id/), 'a log line of a rejection';

# The console.
my $json  = decode_json($nginx->get('/limits/json')->body);
my %rates = map { my $name = $_->{name}; map { ("$name $_->{limit}" => $_->{period}) } @{$_->{rates}} } @{$json->{limits}};
is $rates{"$_ 2"}, 'month', "the rate of $_ as JSON" for @modes[0 .. 2];
is $rates{'variable 5'}, 'month', 'one that was seen';
like $nginx->get('/limits/metrics')->body, qr/_limit\{limit="lease",store="main",period="month"\} 2\n/, 'as a metric';
like $nginx->get('/limits/')->body, qr/2 per month/, 'on the page';
my %windows = map { ($_->{period} => $_) } @{post('key=one&limit=local')->{windows}};
is_deeply [map { "$_ $windows{$_}{used} $windows{$_}{window}" } sort keys %windows], ['2678400 2 clock', 'month 1 clock'], 'a look-up has both windows';
is $windows{month}{reset}, midnight($year, 5), '... with their ends';
like post('do=reset&key=one&limit=local'), qr/409.*Ambiguous/, 'a reset wants one of them named';
is ref post('do=reset&key=one&limit=local&period=month'), 'HASH', '... by its period';
%windows = map { ($_->{period} => $_) } @{post('key=one&limit=local')->{windows}};
is $windows{2678400}{used}, 2, '... and leaves the other';
ok !$windows{month} || $windows{month}{used} == 0, '... alone';
like post('do=reset&key=one&limit=local&period=fortnight'), qr/400.*BadParameter/, 'another name is none';
ok $nginx->count_log(qr/reset in month: 1 used, now 0/), 'the act is logged';

done;

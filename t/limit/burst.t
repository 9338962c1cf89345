# A token bucket: burst=N may come at once, refilled at the rate. Limit is the burst, Remaining whole tokens, and Reset and Retry-After say when more is
# available: after that time the same request passes.

use RateLimit::Test;
use JSON::PP;

my %conf = (
    clock  => 1,
    workers => 2, reuseport => 1,
    http   => 'rate_limit_key $http_x_key; rate_limit_headers github ietf;',
    server => 'location /limits/ { rate_limit_console manage; }
        location /report { rate_limit 1r/h burst=3 name=slow; rate_limit_report; }
        location /slow/ { alias %%DIR%%/html/; rate_limit 1r/h burst=3 name=slow; }
        location /cost/ { alias %%DIR%%/html/; rate_limit 1r/h burst=10 name=cost cost=$arg_c; }
        location /lease/ { alias %%DIR%%/html/; rate_limit 1r/h burst=3 name=lease mode=lease; }
        location /beside/ { alias %%DIR%%/html/; rate_limit 1r/h burst=3 name=slow; rate_limit 0r/s name=none; }
        location /variable/ { alias %%DIR%%/html/; rate_limit 2r/h burst=$arg_b name=variable; }
        location /dry/ { alias %%DIR%%/html/; rate_limit 1r/h burst=1 name=dry dry_run=on; }');
my $nginx = RateLimit::Nginx->start(%conf);
my sub ask ($uri, $key = 'a', @fields) { return $nginx->get($uri, 'X-Key' => $key, @fields) }
my sub travel ($seconds) {
    my $to = ask('/slow/x', 'clock')->date + $seconds;
    $nginx->travel('+' . ($to - time));
    wait_until { ask('/slow/x', 'clock')->date >= $to } what => 'the time';
}
my sub post ($body) {
    my $response = $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded');
    return $response->status == 200 ? decode_json($response->body) : $response->status . ' ' . $response->body;
}

# A burst, and then the rate.
for my $mode (qw(slow lease)) {
    my @answers = map { ask("/$mode/x") } 1 .. 5;
    is_deeply [map { $_->status } @answers], [200, 200, 200, 429, 429], "$mode: three at once";
    is_deeply [map { join ' ', @{limits($_)}{qw(limit used remaining)} } @answers], ['3 1 2', '3 2 1', '3 3 0', ('3 3 0') x 2], '... as the headers say';
    for my $answer (@answers) {
        cmp_ok abs(limits($answer)->{reset} - $answer->date - 3600), '<=', 2, '... and that more is available in an hour';
        is $answer->header('RateLimit-Policy'), "\"$mode\";q=3;w=10800", '... the policy is burst, and the time to fill it';
    }
    cmp_ok abs(limits($answers[3])->{retry_after} - 3600), '<=', 2, '... as Retry-After';
}
travel(limits(ask('/slow/x'))->{retry_after});
is_deeply [map { ask("/$_/x")->status } qw(slow slow lease lease)], [200, 429, 200, 429], 'after Retry-After one passes';
travel(3600 * 50);
is_deeply [map { ask('/slow/x')->status } 1 .. 4], [200, 200, 200, 429], 'a bucket is no fuller for waiting';
is ask('/slow/x', 'b')->status, 200, 'another client has one of its own';

# Costs, and what gives back.
is_deeply [map { ask("/cost/x?c=$_")->status } 4, 4, 4, 2], [200, 200, 429, 200], 'a cost that does not fit is not taken in part';
my $four = ask('/cost/x?c=4');
cmp_ok abs(limits($four)->{retry_after} - 4 * 3600), '<=', 2, 'Retry-After is of this cost';
is_deeply [@{limits(ask('/cost/x?c=11', 'b'))}{qw(used remaining retry_after)}], [0, 10, undef], 'a cost above the burst never fits';
is ask('/cost/x?c=11', 'b')->status, 429, '... and is rejected';
my $etag = ask('/slow/x', 'c')->header('ETag');
is ask('/slow/x', 'c', 'If-None-Match' => $etag)->status, 304, 'not modified' for 1 .. 10;
is limits(ask('/slow/x', 'c'))->{used}, 2, '... is given back';
is ask('/beside/x', 'd')->status, 429, 'another limit rejects' for 1 .. 5;
is limits(ask('/slow/x', 'd'))->{used}, 1, '... and what this one took goes back';
is_deeply [map { ask('/dry/x')->status } 1 .. 3], [200, 200, 200], 'a dry run lets pass';

# A burst that a variable says.
is_deeply [map { ask('/variable/x?b=3', 'v')->status } 1 .. 4], [200, 200, 200, 429], 'a burst from a variable';
is_deeply [map { my $r = ask('/variable/x?b=', 'v'); $r->status . ' ' . limits($r)->{limit} } 1 .. 3], ['200 2', '200 2', '429 2'], 'an empty one: windows count';
for my $burst (qw(0 -1 x 1000000000001 1.5)) {
    shows ask("/variable/x?b=$burst", 'v'), 200, {}, "\"$burst\" is none: allowed, without headers";
}
ok $nginx->count_log(qr/rate limit "variable" .* could not be checked: invalid burst "0": a burst is a whole number from 1 to 1000000000000/), '... and logged';
shows ask('/variable/x?b=1000000000000', 'v'), 200, {}, 'one that takes ages to fill neither';
wait_until { ask('/variable/x?b=1000000000000', 'v'); $nginx->count_log(qr/invalid burst "1000000000000": the bucket takes more than 30 years to fill: lower "burst="/) }
    what => 'its log line, of which there is one a second';

# The report, look-ups and acts.
ask('/slow/x', 'e') for 1 .. 2;
my $told = decode_json($nginx->get('/report', 'X-Key' => 'e')->body)->{resources}{slow};
is_deeply [@{$told}{qw(limit used remaining)}], [3, 2, 1], 'the report';
my $seen = post('key=e&limit=slow')->{windows};
is_deeply [map { join ' ', @{$_}{qw(window limit used remaining)} } @$seen], ['bucket 3 2 1'], 'a look-up';
is ref post('do=add&cost=1&key=e&limit=slow'), 'HASH', 'one back';
is limits(ask('/slow/x', 'e'))->{used}, 2, '... is there';
is ref post('do=reset&key=e&limit=slow'), 'HASH', 'all back';
is limits(ask('/slow/x', 'e'))->{used}, 1, '... is there';
my ($limit) = grep { $_->{name} eq 'slow' } @{decode_json($nginx->get('/limits/json')->body)->{limits}};
is_deeply [@{$limit}{qw(mode window)}], [qw(charge_refund bucket)], 'as JSON';
like $nginx->get('/limits/')->body, qr/charge_refund, a token bucket/, 'on the page';

# A reload keeps it.
$nginx->reload(%conf, wait_old => 1);
is limits(ask('/slow/x', 'e'))->{used}, 2, 'after a reload';

done;

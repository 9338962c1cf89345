# A token bucket in Redis: machines take from one. What a response gives back, and what it costs more, reaches it; headers, report, look-up
# and acts are those of a bucket; the rights in docs/redis.md will do.

use RateLimit::Test;
use JSON::PP;
use List::Util qw(max);
use POSIX ();

my ($rights) = code(project_file('docs/redis.md'), 'acl') =~ /^user nginx on (.*)$/m;
my $redis    = RateLimit::Redis->start(acl => ['user default on nopass ~* &* +@all', "user nginx on $rights"]);
my %machine = (
    workers => 2, reuseport => 1,
    http   => redis_block('main', $redis, 'username nginx; password secret; ' . timeouts('9s')) . 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_headers github ietf;',
    server => 'location /limits/ { rate_limit_console manage; }
        location /report { rate_limit 1r/h burst=3 name=slow; rate_limit_report; }
        location /slow/ { alias %%DIR%%/html/; rate_limit 1r/h burst=3 name=slow; }
        location /none/ { rate_limit 0r/s burst=5 name=zero; }
        location /lease/ { alias %%DIR%%/html/; rate_limit 1r/h burst=3 name=lease mode=lease; }
        location /plan/ { alias %%DIR%%/html/; rate_limit 1r/h burst=10 name=plan; }
        location /better/ { alias %%DIR%%/html/; rate_limit 100r/h burst=20 name=plan; }
        location /cost/ { alias %%DIR%%/html/; rate_limit 1r/h burst=10 name=cost cost=$arg_c; }
        location /small/ { alias %%DIR%%/html/; rate_limit 1r/h burst=4 name=cost; }
        location /beside/ { alias %%DIR%%/html/; rate_limit 1r/h burst=3 name=slow; rate_limit 0r/s name=none; }
        location /after/ { alias %%DIR%%/html/; rate_limit 1r/h burst=10 name=after cost=$sent_http_x_cost; add_header X-Cost $arg_c; }
        location /dry/ { alias %%DIR%%/html/; rate_limit 1r/h burst=1 name=dry dry_run=on; }
        location /variable/ { alias %%DIR%%/html/; rate_limit 2r/h burst=$arg_b name=variable; }');
my @machines = map { RateLimit::Nginx->start(%machine) } 1 .. 3;
my $turn     = 0;
my sub ask ($uri, $key = 'a', @fields) { return $machines[$turn++ % 3]->get($uri, 'X-Key' => $key, @fields) }
my sub post ($body) {
    my $response = $machines[0]->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded');
    return $response->status == 200 ? decode_json($response->body) : $response->status . ' ' . $response->body;
}
# Returns how many tokens are taken, as the primary has it.
my sub used ($key) { return POSIX::ceil(max(0, ($redis->bucket($key))[0] // 0) / 3600e9) }

for my $mode (qw(slow lease)) {
    my @answers = map { ask("/$mode/x") } 1 .. 6;
    is_deeply [map { $_->status } @answers], [200, 200, 200, 429, 429, 429], "$mode: three at once, of three machines";
    is_deeply [map { join ' ', @{limits($_)}{qw(limit used remaining)} } @answers], ['3 1 2', '3 2 1', '3 3 0', ('3 3 0') x 3], '... as the headers say';
    for my $answer (@answers) {
        cmp_ok abs(limits($answer)->{reset} - $answer->date - 3600), '<=', 2, '... and that more is available in an hour';
        is $answer->header('RateLimit-Policy'), "\"$mode\";q=3;w=10800", '... the policy is burst, and the time to fill it';
    }
    cmp_ok abs(limits($answers[3])->{retry_after} - 3600), '<=', 2, '... as Retry-After';
}
is ask('/slow/x', 'b')->status, 200, 'another client has one of its own';

is_deeply [map { ask("/cost/x?c=$_")->status } 4, 4, 4, 2], [200, 200, 429, 200], 'a cost that does not fit is not taken in part';
my $four = ask('/cost/x?c=4');
cmp_ok abs(limits($four)->{retry_after} - 4 * 3600), '<=', 2, 'Retry-After is of this cost';
is_deeply [@{limits(ask('/cost/x?c=11', 'never'))}{qw(used remaining retry_after)}], [0, 10, undef], 'a cost above the burst never fits';
is ask('/small/x')->status, 429, 'a limit of a smaller burst shares it';
is ask('/slow/x', 'c')->status, 200, 'a request that is charged';
for (1 .. 10) {
    is ask('/slow/x', 'c', 'If-None-Match' => '*')->status, 304, 'not modified';
    wait_until { used('rl:slow/3600b:c') == 1 } what => 'what was given back';
}
is ask('/beside/x', 'd')->status, 429, 'another limit rejects' for 1 .. 5;
wait_until { used('rl:slow/3600b:d') == 0 } what => 'what this one took to go back';
is_deeply [map { ask('/dry/x')->status } 1 .. 3], [200, 200, 200], 'a dry run lets pass';
is ask('/variable/x?b=2', 'v')->status, $_, 'a variable burst' for 200, 200, 429;
is limits(ask('/variable/x?b=', 'v'))->{limit}, 2, '... none: a window';

for my $cost (3, 12) {
    is ask("/after/x?c=$cost", "after$cost")->status, 200, "a cost of $cost that the response tells";
    wait_until { used("rl:after/3600b:after$cost") == ($cost < 10 ? $cost : 10) } what => 'the bucket to have it, as far as it holds that';
}

# The report, a look-up, and acts.
ask('/slow/x', 'e') for 1 .. 2;
for my $machine (@machines) {
    wait_until {
        my $told = decode_json($machine->get('/report', 'X-Key' => 'e')->body)->{resources}{slow};
        "@$told{qw(limit used remaining)}" eq '3 2 1' && abs($told->{reset} - time - 3600) <= 2
    } what => 'the report of a machine';
}
my $seen = post('key=e&limit=slow')->{windows};
is_deeply [map { @$_{qw(window limit used remaining)} } @$seen], ['bucket', 3, 2, 1], 'a look-up';
ask('/plan/x', 'p') for 1 .. 10;
is ask('/plan/x', 'p')->status, 429, 'of two rates that share a bucket the lower one';
is ref post('do=reset&key=p&limit=plan'), 'HASH', '... is reset';
wait_until { ask('/plan/x', 'p')->status == 200 } what => 'all machines to hear of it';
is ref post('key=e'), 'ARRAY', '... of all limits, of which one has a rate of 0';
is ref post('do=add&cost=1&key=e&limit=slow'), 'HASH', 'one back';
is limits(ask('/slow/x', 'e'))->{used}, 2, '... is there';
is ref post('do=reset&key=e&limit=slow'), 'HASH', 'all back';
is limits(ask('/slow/x', 'e'))->{used}, 1, '... is there';

is $_->count_log(qr/rate limit: (?!.*(?:"cost"|invalid burst))/), 0, 'nothing in the log' for @machines;

done;

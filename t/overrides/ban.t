# A ban holds in all workers for the next request after its answer, in every mode and kind of store, also in a dry run: the limit is 0, used is 0, Reset
# and Retry-After are of the ban's end, and no store is asked. It ends at its time, survives a reload and workers that are killed, and is gone after a stop.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my @modes = qw(check_charge charge_refund lease);
my $nginx = RateLimit::Nginx->start(
    clock   => 1,
    workers => 4, reuseport => 1,
    http    => redis_block('main', $redis) . 'rate_limit_key $http_x_key;
        log_format override "$http_x_key $uri [$rate_limit_override] $rate_limit_status";',
    server  => 'access_log override override;
        location = /r { rate_limit 5r/h; rate_limit_report; }
        location /limits/ { rate_limit_console manage; }
        location /bypassed/ { alias %%DIR%%/html/; rate_limit 5r/h; rate_limit_bypass $arg_bypass; }
        location / { rate_limit 5r/h; }
        location /dry/ { alias %%DIR%%/html/; rate_limit 5r/h; rate_limit_dry_run on; }' . join '', map { "
        location /$_/ { alias %%DIR%%/html/; rate_limit 5r/h name=$_ store=main mode=$_; }" } @modes,
);
my sub get ($key, $uri = '/x', @headers) { return $nginx->get($uri, 'X-Key' => $key, @headers) }

is get('a')->status, 200, 'before';
my $shown = $nginx->does(do => 'ban', limit => 'default', key => 'a', for => '100s');
is_deeply [@{$shown->{override}}{qw(kind percent by scope)}], ['ban', undef, '127.0.0.1', 'machine'], 'the answer has it';
my $until = $shown->{override}{until};
is sprintf('%.3f', $until - $shown->{override}{from}), '100.000', '... with its end';
is $shown->{windows}[0]{used}, 1, '... and the window of before';

my @responses = map { get('a') } 1 .. 16;
is_deeply statuses(@responses), {429 => 16}, 'each worker rejects';
is_deeply limits($responses[0]), {%{limits($responses[0])}, limit => 0, used => 0, remaining => 0, reset => ceil($until)}, 'as a limit of 0';
my $retry = $responses[0]->header('Retry-After');
ok $retry > 60 && $retry <= 100, 'until the ban ends' or diag $retry;
is get('b')->status, 200, 'another key passes';
is get('a', '/dry/x')->status, 429, 'a dry run does not matter';
is get('a', '/bypassed/x?bypass=1')->status, 200, 'what is bypassed is not asked';
is get('a', '/check_charge/x')->status, 200, 'another limit does not know of it';
is_deeply [@{get('a', '/r')->json->{rate}}{qw(limit used remaining reset)}], [0, 0, 0, ceil($until)], 'a report says it';
$nginx->wait_line('override', 'a /x [ban] REJECTED');
$nginx->wait_line('override', 'b /x [-] PASSED');

for my $mode (@modes) {
    get('c', "/$mode/x") for 1 .. 2;
    wait_until { $redis->used('c', "$mode/3600") >= 2 } what => 'both to be charged';
    $nginx->does(do => 'ban', limit => $mode, store => 'main', key => 'c');
    my $calls = $redis->calls('hmget') + $redis->script_calls;
    is_deeply statuses(map { get('c', "/$mode/x") } 1 .. 8), {429 => 8}, "$mode: rejected";
    is $redis->calls('hmget') + $redis->script_calls, $calls, '... and Redis is not asked';
}

is $nginx->count_log(qr/\[notice\].* rate limit "default" of "local", id [0-9a-f]{16}: override: ban for 100 s, before: none, by the console, client: 127.0.0.1/), 1, 'logged';

$nginx->kill_worker for 1 .. 2;
$nginx->reload(wait_old => 1);
is_deeply statuses(map { get('a') } 1 .. 8), {429 => 8}, 'it survives workers and reloads';

is $nginx->does(do => 'clear', limit => 'check_charge', store => 'main', key => 'c')->{override}, undef, 'it can be cleared';
is get('c', '/check_charge/x')->status, 200, '... and then the key passes';

$nginx->travel(sprintf '+%ds', $until - 5 - time);
is get('a')->status, 429, 'it holds until its end';
$nginx->travel('+101s');
wait_until { get('a')->status == 200 } what => 'the end of the ban';
is_deeply statuses(map { get('a') } 1 .. 8), {200 => 3, 429 => 5}, '... in all workers, and the window of before goes on';

$nginx->does(do => 'ban', limit => 'default', key => 'd');
$nginx->restart;
is get('d')->status, 200, 'a stop ends it';
done;

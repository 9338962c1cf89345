# Overrides of a limit of running requests decide what runs and what clients see. An allowed client holds no slot and sees no headers. A banned
# client sees a limit of 0 until the ban's end, and Redis is not asked. Where a limit is enforced for a share of the keys, the others are in a dry
# run.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, workers => 2, reuseport => 1, http => redis_block('main', $redis),
    server => 'rate_limit_key $arg_k; rate_limit_headers github ietf; add_header X-Outcome $rate_limit_status always;
        location /limits/ { rate_limit_console manage; }
        location /local { rate_limit_concurrency 1 name=slots; proxy_pass http://%%UP%%; }
        location /main { rate_limit_concurrency 1 name=slots store=main; proxy_pass http://%%UP%%; }',
);
my sub ietf ($response) { return join ' ', map { $response->header($_) // '-' } qw(RateLimit-Policy RateLimit) }
my $policy = '"slots";q=1;qu="concurrent-requests" "slots"';

for my $store (qw(local main)) {
    my $limit = "limit=slots&store=$store";
    my sub get ($key) { return $nginx->get("/$store?k=$key") }
    my sub reach ($key) { return $nginx->reach($backend, "/$store/slow?k=$key") }
    my sub is_full ($key, $what) {
        shows get($key), 429, {limit => 1, used => 1, remaining => 0, resource => 'slots', retry_after => 1}, "$store: $what";
    }

    my @open = reach('a');
    is_full('a', 'one runs');
    $nginx->does("do=allow&$limit&key=a");
    push @open, map { reach('a') } 1 .. 3;
    shows get('a'), 200, {}, 'any number of an allowed key, without headers';
    is ietf(get('a')), '- -', '... of the other kind, too';
    is_deeply [map { (split)[0] } values %{$redis->hash('rl:slots/n:a')}], [1], '... and without slots' if $store eq 'main';
    $nginx->does("do=clear&$limit&key=a");
    is_full('a', 'the first one still counts');

    my $until = $nginx->does("do=ban&$limit&key=b&for=100s")->{override}{until};
    my $calls = $redis->script_calls;
    my $banned = get('b');
    shows $banned, 429, {limit => 0, used => 0, remaining => 0, reset => ceil($until), resource => 'slots'}, 'a banned key';
    my $after = $banned->header('Retry-After');
    ok $after > 100 - patience(10) && $after <= 100, '... until the ban ends' or diag $after;
    like ietf($banned), qr/^"slots";q=0;qu="concurrent-requests" "slots";r=0/, '... as a limit of 0';
    is $redis->script_calls, $calls, '... and Redis is not asked';
    $nginx->does("do=clear&$limit&key=b");

    # The hash of alice is 89.
    push @open, reach('alice');
    $nginx->does("do=enforce&$limit&percent=89");
    my @dry = map { reach('alice') } 1 .. 2;
    my $passed = get('alice');
    is outcome($passed), '200 REJECTED_DRY_RUN', 'enforced for others, she passes';
    shows $passed, 200, {limit => 1, used => 1, remaining => 0, resource => 'slots', retry_after => undef}, '... and is told what holds';
    is ietf($passed), "$policy;r=0", '... in both kinds';
    $nginx->does("do=enforce&$limit&percent=90");
    is_full('alice', 'enforced for her');
    $nginx->does("do=off&$limit");
    is get('alice')->status, 200, 'the limit is off';
    $nginx->does("do=clear&$limit");

    $backend->release('gate');
    is_deeply statuses(map { $_->response } @open, @dry), {200 => 7}, 'all end';
    for my $key (qw(a alice)) {
        wait_until { get($key)->status == 200 } what => "the slot of $key";
        my $one = reach($key);
        is_full($key, 'what held no slot gave none back');
        $backend->release('gate');
        $one->response;
    }
}

done;

# A reset admits a client at its limit at once on this machine, in every mode and kind of store, whichever worker does it. The window's end stays, and
# so do other keys, the same key under other limits, in other stores and of other periods. What is given back goes to Redis, and is in the answer. A report tells
# of it at once: what was read for reports before is not believed any more.

use RateLimit::Test;
use JSON::PP;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my @modes  = qw(check_charge charge_refund lease);
my $nginx  = RateLimit::Nginx->start(
    workers => 2, reuseport => 1,
    http    => $shards->block('main') . $shards->block('other', 'prefix other:; ' . timeouts('9s')) . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location = /report { rate_limit_report; rate_limit 500r/h name=told store=main; }
        location /told { rate_limit 500r/h name=told store=main; }' . join '', map { "
        location /$_ { rate_limit 5r/h name=$_ store=main mode=$_; }
        location /longer-$_ { rate_limit 5r/2h name=$_ store=main mode=$_; }
        location /other-$_ { rate_limit 5r/h name=$_ store=other mode=$_; }
        location /local-$_ { rate_limit 5r/h name=$_ mode=$_; }" } @modes,
);
my sub get ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key) }
my sub fill ($uri, $key) { return statuses(map { get($uri, $key) } 1 .. 6) }

for my $mode (@modes) {
    for my $store (qw(main local)) {
        my $uri = $store eq 'main' ? "/$mode" : "/local-$mode";
        my @of  = (limit => $mode, store => $store, period => 3600);
        fill($_, 'a') for grep { $_ ne $uri } "/$mode", "/longer-$mode", "/other-$mode", "/local-$mode";
        fill($uri, 'ab');
        for my $round (1 .. 3) {
            is_deeply fill($uri, 'a'), {200 => 5, 429 => 1}, "$mode, $store: at the limit";
            my $reset = limits(get($uri, 'a'))->{reset};
            wait_until { $shards->used("rl:$mode/3600:a") >= 5 } what => 'the charges of both workers' if $store eq 'main';
            my $shown = $nginx->does(do => 'reset', key => 'a', @of);
            my ($window) = grep { $_->{period} == 3600 } @{$shown->{windows}};
            is_deeply [@$window{qw(open used remaining source)}], [JSON::PP::true, 0, 5, $store eq 'main' ? 'primary' : 'memory'], 'reset';
            is ceil($window->{reset}), $reset, '... and the end stays';
            is_deeply [@$shown{qw(limit store)}], [$mode, $store], '... of that limit';
            is $shards->used("rl:$mode/3600:a"), 0, '... in Redis' if $store eq 'main';
            is limits(get($uri, 'a'))->{reset}, $reset, '... and for the client' if $round == 2;
            next if $round != 2;
            wait_until { $shards->used("rl:$mode/3600:a") >= 1 } what => 'its charge' if $store eq 'main';
            $nginx->does(do => 'reset', key => 'a', @of);
        }
        is get($uri, 'ab')->status, 429, 'another key is where it was';
        is get($_, 'a')->status, 429, "so is $_" for grep { $_ ne $uri } "/$mode", "/longer-$mode", "/other-$mode", "/local-$mode";
        $nginx->does(do => 'reset', key => $_, limit => $mode, store => 'local') for 'a', 'ab';
        $nginx->does(do => 'reset', key => $_, limit => $mode, store => 'main', period => 3600) for 'a', 'ab';
    }
}

my sub reported () { return $nginx->get('/report', 'X-Key' => 'a')->json->{rate}{used} }
my $stored = 'rl:told/3600:a';
get('/told', 'a');
my $primary = wait_until { $shards->find($stored) } what => 'the charge';
for my $used (40, 90, 7) {
    $primary->cmd('HSET', $stored, used => $used);
    wait_until { reported() == $used } what => 'what Redis has';
    is reported(), $used, 'a report, which others may share';
    $nginx->does('do=reset&key=a&limit=told');
    is reported(), 0, '... is told at once' for 1 .. 4;
}

done;

# A report after a reset tells of it at once, on this machine: what was read for reports before is not believed any more.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    workers => 2, reuseport => 1, http => $shards->block('main') . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location = /report { rate_limit_report; rate_limit 500r/h name=core store=main; }
        location / { rate_limit 500r/h name=core store=main; }',
);
my sub reported () { return $nginx->get('/report', 'X-Key' => 'a')->json->{rate}{used} }

$shards->primary->hold_only('rl:core/3600:a', 3_000_000, used => 40, reset => (time + 3000) . '000');
for my $used (40, 90, 7) {
    $shards->primary->cmd('HSET', 'rl:core/3600:a', used => $used);
    wait_until { reported() == $used } what => 'what Redis has';
    is reported(), $used, 'a report, which others may share';
    is $nginx->act('do=reset&key=a&limit=core')->status, 200, 'a reset';
    is reported(), 0, '... is told at once' for 1 .. 4;
}

done;

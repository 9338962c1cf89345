# conf-examples/penalties.conf: who is much too fast is out for ten minutes, on all machines; who has used the quota of a day up is not.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start;
my sub example (%replace) {
    return start_example('penalties', shards => $shards, app => $app, replace => {'rate_limit_key   $rate_limit_addr' => 'rate_limit_key   $http_x_address', %replace});
}
my @nginx = map { example('10r/s burst=50' => '10r/h burst=5') } 1 .. 2;

is $nginx[0]->get('/', 'X-Address' => 'fast')->status, 200, "request $_" for 1 .. 5;
my $rejected = $nginx[0]->get('/', 'X-Address' => 'fast');
shows $rejected, 429, {resource => 'fast', limit => 5, remaining => 0}, 'the sixth';
is $rejected->header('X-Penalty'), 600, '... is out for ten minutes';
is $rejected->header('Retry-After'), 600, '... and is told so';
wait_until { length $shards->primary->cmd('GET', 'rl:fast/3600b:fast') == 32 } what => 'the penalty in Redis';
my $elsewhere = $nginx[1]->get('/', 'X-Address' => 'fast');
is $elsewhere->status, 429, 'so it is on the other machine';
cmp_ok $elsewhere->header('X-Penalty'), '>', 500, '... for as long';
is $nginx[1]->get('/', 'X-Address' => 'other')->status, 200, 'another client is not';

my $quota = example('10000r/d' => '3r/d');
is $quota->get('/', 'X-Address' => 'busy')->status, 200, "of a quota of three: $_" for 1 .. 3;
my $used_up;
wait_until { ($used_up = $quota->get('/', 'X-Address' => 'busy'))->status == 429 } what => 'the quota to be used up';
is $used_up->header('X-RateLimit-Resource'), 'day', 'the quota rejects';
is $used_up->header('X-Penalty'), undef, '... without a penalty';

done;

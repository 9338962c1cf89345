# While the primary is away charges wait, summed; they are delivered if their window is still open, else
# they expire.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(appendonly => 1);
my $replica = RateLimit::Redis->start;
my $nginx   = RateLimit::Nginx->start(
    http => redis_block('main', [$redis, $replica], ''),
    server => 'rate_limit_key $http_x_key; location / { rate_limit 100r/h store=main; }'
        . 'location /short { rate_limit 100r/1s name=short store=main; }',
);
my $client = $nginx->http;

sub requests ($name, $count) {
    my @responses = map { $client->get('/x', 'X-Key' => $name) } 1 .. $count;
    return is_deeply statuses(@responses), {200 => $count}, "$name: $count requests pass";
}

requests('open', 3);
wait_until { $redis->used('open') == 3 } what => 'the first charges';
my $reset = $redis->stored('open')->{reset};
$replica->cmd('HSET', 'rl:default/3600:open', used => 3, reset => $reset);
$redis->kill;
requests('open', 10);
requests('new', 4);
is $client->get('/short', 'X-Key' => 'short')->status, 200, 'a window of a second';
$nginx->wait_log(qr/primary \Q@{[$redis->address]}\E of shard "a" of "main" is down/);
let_pass(2);    # the short window closes
$redis->launch;
$redis->wait_answering;    # restart() would forget calls that come at once
wait_until { $redis->used('open') == 13 } what => 'what waited for the open window';
wait_until { $redis->used('new') == 4 } what => 'what waited for a new one';
is $redis->stored('open')->{reset}, $reset, 'the window is the same';
cmp_ok $redis->script_calls, '>=', 2, 'by the script';
cmp_ok $redis->script_calls, '<=', 4, 'one charge for each window';
$nginx->wait_log(qr/\d+ charges for .* expired: their windows had closed, .* \(1 expired so far\)/);
is_deeply [grep { /short/ } $redis->keys], [], 'the closed window is not charged';
requests('open', 1);
$nginx->stop;
is $redis->used('open'), 14, 'and it goes on';

done;

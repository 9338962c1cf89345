# charge_refund with rate_limit_on_error local: while Redis is away the memory of this machine admits up to the limit,
# and what it admitted is stored when Redis is back.

use RateLimit::Test;

my $redis = RateLimit::Redis->start(appendonly => 1);
my $nginx = RateLimit::Nginx->with_limit('10r/h', redis_block('main', $redis, 'check_timeout 2s; connect_timeout 2s;'),
    workers => 2, more => 'rate_limit_mode charge_refund; rate_limit_on_error local; rate_limit_cost $http_x_cost;
        add_header X-Outcome $rate_limit_status always;');

sub ask ($key, $cost, @more) { return $nginx->get('/x', 'X-Key' => $key, 'X-Cost' => $cost, @more) }

is outcome(ask('known', 4)), '200 PASSED', 'Redis is there';
is $redis->used('known'), 4, 'and charged';
my $reset = limits(ask('known', 0))->{reset};
$redis->kill;

is_deeply [map { outcome(ask('known', $_)) } 7, 5, 2], ['429 REJECTED', '200 ERROR_LOCAL', '429 REJECTED'],
    'it is away: what fits passes, from what is known';
my $last = ask('known', 1);
is outcome($last), '200 ERROR_LOCAL', 'up to the limit';
is_deeply [@{limits($last)}{qw(used remaining reset)}], [10, 0, $reset], 'in the same window';
my $over = ask('known', 1);
is_deeply [outcome($over), @{limits($over)}{qw(used remaining reset)}], ['429 REJECTED', 10, 0, $reset], 'not beyond';
my @new = $nginx->parallel(connections => 8, requests => 40, uri => '/x', headers => ['X-Key' => 'new']);
is_deeply outcomes(@new), {'200 ERROR_LOCAL' => 10, '429 REJECTED' => 30}, 'a new client, over both workers';
is outcome(ask('exempt', 3, 'If-None-Match' => '*')), '304 ERROR_LOCAL', 'what is exempt';
is outcome(ask('exempt', 10)), '200 ERROR_LOCAL', 'takes nothing';
is outcome(ask('much', 11)), '429 REJECTED', 'more than the limit never fits';
$nginx->wait_log(qr/could not be checked: the primary of the shard is not up/);

$redis->restart;
my %after = (known => 10, new => 10, exempt => 10, much => 0);
wait_until { !grep { $redis->used($_) != $after{$_} } keys %after } what => 'what was admitted';
$nginx->wait_up_again;
is_deeply [map { outcome(ask($_, 1)) } qw(known new exempt)], [('429 REJECTED') x 3], 'it is stored, and still holds';
is outcome(ask('much', 10)), '200 PASSED', 'others go on';
$nginx->stop;
is_deeply {map { $_ => $redis->used($_) } keys %after}, {%after, much => 10}, 'each once';
is $nginx->count_log(qr/in doubt|were dropped|are lost/), 0, 'nothing is lost';

done;

# More requests wait for tokens of a bucket than its batch has seats: those that find none share further, smaller batches, also on
# workers that wait for the batch of another one. Each passes, and few ask for themselves.

use RateLimit::Test;

# A batch is at first a sixteenth of what is refilled in a second: 63 tokens.
my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', [$redis], 'check_timeout 9s; connect_timeout 9s; charge_timeout 9s;'),
    server  => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; add_header X-Worker $pid always;
        location / { rate_limit 1000r/s burst=20000 name=b mode=lease; } location /who { rate_limit off; }',
);
my %of;
wait_until {
    my $client = $nginx->http;
    push @{$of{$client->get('/who')->header('X-Worker')}}, $client;
    keys %of == 2 && !grep { @$_ < 100 } values %of
} what => 'a hundred connections to each worker', timeout => 60;
my @clients = map { @$_[0 .. 99] } values %of;
$_->get('/?k=before') for map { $_->[0] } values %of;
my $before = $redis->script_calls;

$redis->freeze;
$_->start_request(GET => '/?k=hot') for @clients;
is $nginx->get('/who')->status, 200, 'nginx has read them' for 1 .. 10;
$redis->thaw;
is scalar(grep { $_->response(timeout => 9)->status == 200 } @clients), 200, 'all pass';
cmp_ok $redis->script_calls - $before, '<=', 40, 'few ask';
cmp_ok $redis->script_calls - $before, '>', 2, 'by more than one batch of each';
$nginx->stop;

done;

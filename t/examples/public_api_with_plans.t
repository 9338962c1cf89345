# conf-examples/public-api-with-plans.conf: the plan says the rate, made-up keys open no windows, monitoring is not limited.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = start_example('public-api-with-plans', shards => $shards, app => $app);

my %limit = ('k-mona' => 600, 'k-hubot' => 5000);
for my $key (sort keys %limit) {
    shows $nginx->get('/', 'X-API-Key' => $key), 200, {limit => $limit{$key}, used => 1, resource => 'core'},
        "$key: the rate of its plan, and a window of its own, named core";
}
is_deeply limits($nginx->get('/', 'X-API-Key' => 'k-acme')), {}, 'enterprise: no limit, no headers';
is $app->requests, 3, 'all of them reach the application';

$nginx->get('/', 'X-API-Key' => "made-up-$_") for 1 .. 2;
my $http = $nginx->http;
$http->get('/') for 1 .. 58;
wait_until { $shards->used('rl:core/3600:addr:127.0.0.1') == 60 } what => '60 charges to the address';
$shards->wait_synced;
shows $nginx->get('/'), 429, {limit => 60},
    'an address without a key: 60 requests, made-up keys included, of the anonymous rate';
is $nginx->get('/', 'X-API-Key' => 'another')->status, 429, 'a new made-up key does not help';
is $nginx->get('/', 'X-API-Key' => 'k-mona')->status, 200, 'a customer at that address is not affected';

my $ours = start_example('public-api-with-plans', shards => $shards, app => $app, replace => {'10.0.9.0/24' => '127.0.0.0/8'});
shows $ours->get('/'), 200, {}, 'monitoring is not limited, and sees no headers';

done;

# conf-examples/graphql-cost.conf: the application's header is the cost of a query.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start(handler => sub ($req, $conn) {
    my ($cost) = $req->{body} =~ /cost (\S+)/;
    my $answer = [200, [defined $cost ? ('X-Query-Cost' => $cost) : ()], '{}'];
    return $req->{body} =~ /held/ ? $conn->hold('gate', $answer) : $answer;
});
my $nginx = start_example('graphql-cost', shards => $shards, app => $app);
my @token = ('Authorization' => 'Bearer t');

sub windows () { return grep { /^rl:graphql\/3600#/ } map { $_->keys } $shards->primaries }
sub spent () { return $shards->used((windows())[0] // 'none') }
my $query = $nginx->post('/graphql', 'cost 40', @token);
is $query->status, 200, 'a query';
is $query->header('X-Query-Cost'), undef, 'the cost is not shown as such';
shows $query, 200, {resource => 'graphql', limit => 5000, used => 40, remaining => 4960}, 'but what is left, though fewer queries are';
wait_until { spent() == 40 } what => 'its cost charged';
$shards->wait_synced;
$nginx->post('/graphql', 'no cost', @token);
wait_until { spent() == 41 } what => 'no header: 1';
$shards->wait_synced;
$nginx->post('/graphql', 'cost 0', @token);
$nginx->post('/graphql', 'cost 4900', @token);
wait_until { spent() == 4941 } what => '0 is free';
$shards->wait_synced;
shows $nginx->post('/graphql', 'cost 100', @token), 200, {resource => 'graphql', used => 5041, remaining => 0},
    'admitted while any point is left, and the headers say what it cost';
wait_until { spent() == 5041 } what => 'the cost of the last one';
$shards->wait_synced;
shows $nginx->post('/graphql', 'cost 1', @token), 429, {resource => 'graphql'}, 'no point is left';
is $nginx->post('/graphql', 'cost 1', 'Authorization' => 'Bearer other')->status, 200, 'another client is not affected';
wait_until { windows() == 2 } what => 'its charge';

$shards->flush;
my $queries = $app->requests;
my @leaving = map { my $http = $nginx->http; $http->start_request('POST', '/graphql', ['Authorization' => 'Bearer leaving'], 'held, cost 50'); $http } 1 .. 20;
wait_until { $app->requests == $queries + 20 } what => '20 queries';
$_->abort for @leaving;
$app->release('gate');
wait_until { spent() == 1000 } what => 'clients that leave early to pay what the application says';
is spent(), 1000, '20 aborted queries at 50';

done;

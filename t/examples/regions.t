# conf-examples/regions.conf: what a client used in one region counts in the other one, each writes at home, and either goes on without the
# other.

use RateLimit::Test;

my @region = map { RateLimit::Shards->start(1, replicas => 2) } 1 .. 2;    # the second replica stands in the other region
my $app = RateLimit::Backend->start;
my @nginx = map {
    my ($here, $other) = @region[$_, 1 - $_];
    start_example('regions', app => $app, replace => {
        'key=$rate_limit_addr' => 'key=$http_x_key', '5000r/h' => '10r/d', 'check_timeout 100ms' => 'check_timeout 9s',
        '10.0.0.1:6379' => $here->primary->address, '10.0.0.2:6379' => ($here->all)[1]->address, '10.0.0.3:6379' => ($other->all)[2]->address,
    })
} 0, 1;
sub ask ($region, $key = 'k') { return $nginx[$region]->get('/', 'X-Key' => $key) }
sub used ($region) { return $region[$region]->primary->used('k', 'core/86400c') // 0 }

is ask(0)->status, 200, "a request in eu" for 1 .. 4;
wait_until { used(0) == 4 } what => 'the charges in eu';
$_->wait_synced for @region;
wait_until { (ask(1, 'other'), 1)[1] } what => 'us to be connected';
let_connections_age();
is ask(1)->header('X-RateLimit-Used'), 5, 'us knows of them';
wait_until { used(1) == 1 } what => 'the charge in us';
is used(0), 4, '... and charges its own primary';
$_->stop for $region[0]->all;
is ask(1, "new$_")->status, 200, 'us goes on without eu' for 1 .. 3;

done;

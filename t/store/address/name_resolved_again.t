# With a resolver a node whose name moves is found again without a reload.

use RateLimit::Test;

# A name to nginx, which knows addresses of four numbers only, and an address to the system: it resolves it when the configuration
# is read, without asking anybody. The test does from then on.
my $name  = '127.1';
my $dns   = RateLimit::Dns->start(names => {$name => '127.0.0.1'});
my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->with_limit('1000000r/h',
    'resolver ' . $dns->address . ' ipv6=off; ' . redis_block('main', "$name:" . $redis->port, 'check_timeout 2s; connect_timeout 2s;'),
    more => 'add_header X-Outcome $rate_limit_status;');

sub move_to ($address) {
    $redis->kill;
    $redis->{args} = ['--bind', $address];
    $redis->launch;
    return;
}

sub serves ($key) {
    wait_until { $nginx->get('/x', 'X-Key' => "$key-1")->header('X-Outcome') eq 'PASSED' }
        what => 'the node to be up';
    return wait_until { (limits($nginx->get('/x', 'X-Key' => "$key-2"))->{used} // 0) > 2 }
        what => "charges of $key";
}

ok serves('first'), 'at the address of the configuration';
is scalar(() = $dns->records), 0, 'no question while all is well';
$dns->set(at => 0.98);
$dns->set($name => '127.0.0.2');
$redis->kill;
is $nginx->get('/x', 'X-Key' => 'down')->header('X-Outcome'), 'ERROR_ALLOWED', 'gone';
move_to('127.0.0.2');
ok serves('second'), 'found at another address';
is_deeply [($dns->records)[0]], [[$name, 1]], 'by asking the resolver';

$dns->set(at => 0);
$dns->set($name => '127.0.0.3 127.0.0.4');
move_to('127.0.0.4');
$nginx->get('/x', 'X-Key' => 'down');
ok serves('third'), 'of several addresses the one that works';

$dns->set($name => '');
move_to('127.0.0.4');
$nginx->get('/x', 'X-Key' => 'down');
ok serves('fourth'), 'an unknown name leaves the addresses known so far';

$dns->forget;
$dns->set($name => 'silence');
$redis->kill;
$nginx->get('/x', 'X-Key' => 'down');
wait_until { () = $dns->records } what => 'a question';
ok eval { $nginx->stop }, 'a silent name server does not hold a worker';

done;

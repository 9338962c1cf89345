# A zone of the least size notes some fifty keys of which this machine has slots in Redis. Of further keys rate_limit_on_error decides, as the
# log says, until slots of others have gone back; the limits of those that are noted hold all the while, and so do those of the store `local`.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, log_level => 'notice', http => redis_block('main', $redis) . 'rate_limit_zone 128k;',
    server => 'rate_limit_key $arg_k; rate_limit_on_error deny; rate_limit_log_level info; add_header X-Outcome $rate_limit_status always;
        location /main { rate_limit_concurrency 1 store=main; proxy_pass http://%%UP%%; }
        location /here { rate_limit_concurrency 1 name=here; proxy_pass http://%%UP%%; }');
sub held () { return scalar grep { grep { /^[1-9]/ } values %{$redis->hash($_)} } $redis->keys }

my (%open, @denied);
for my $key (map { "k$_" } 1 .. 150) {
    my $before = $backend->requests;
    my $http   = $nginx->begin("/main/slow?k=$key");
    wait_until { $backend->requests > $before || !$http->quiet(0.001) } what => 'a request';
    $backend->requests > $before ? ($open{$key} = $http) : push @denied, $http;
}
my $running = keys %open;
cmp_ok $running, '>', 20, "$running keys have a slot";
cmp_ok $running, '<', 100, '... and no more';
is_deeply outcomes(map { $_->response } @denied), {'503 ERROR_DENIED' => 150 - $running}, 'the others are told that nobody can check';
$nginx->wait_log(qr/rate limit "concurrency" in \S+ could not be checked: no room in "rate_limit_zone": enlarge it/);
is held(), $running, 'Redis knows of those that run, and of no others';
is_deeply outcomes(map { $nginx->get("/main?k=$_") } keys %open), {'429 REJECTED' => $running}, 'the limits of those that run hold';

my $here = $nginx->reach($backend, '/here/slow?k=a');
is outcome($nginx->get('/here?k=a')), '429 REJECTED', 'in local there is room';

$backend->release('gate');
is_deeply outcomes(map { $_->response } values %open), {'200 PASSED' => $running}, 'all end';
is outcome($here->response), '200 PASSED', '... here too';
wait_until { !held() } what => 'all slots to go back';
wait_until { outcome($nginx->get('/main?k=new')) eq '200 PASSED' } what => 'room for another key';

done;

# Charges that waited are summed per window; if that sum is in doubt, all of them are counted.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => taking(sub ($nth, $conn, $taken) { $conn->close; return }));
$redis->stop;
my $nginx = RateLimit::Nginx->with_limit('99r/h name=one', redis_block('main', $redis, ''), key => '$arg_k');

is_deeply statuses(map { $nginx->get('/x?k=a') } 1 .. 10), {200 => 10}, 'ten requests while the primary is away';
$redis->restart;
$nginx->wait_log(qr/in doubt so far/);
my @sent = $redis->commands('evalsha');
is scalar @sent, 1, 'one command';
is $sent[0][4], 10, 'of the cost of ten';
like $nginx->error_log, qr/\(10 in doubt so far\)/, 'ten charges are in doubt';

done;

# More than half of all sentinels have to agree, also of those that are not asked: a sentinel may be forbidden to name the others.

use RateLimit::Test;

my ($old, $new, $newest) = map { RateLimit::Redis->start } 1 .. 3;
my sub primary ($redis, $epoch) { return join ' ', '127.0.0.1', $redis->port, $epoch }
my $sentinel = RateLimit::FakeRedis->start(handler => watching,
    state => {mute => 1, primary => primary($old, 5), others => '127.0.0.1:1 127.0.0.1:2'});
my $nginx = RateLimit::Nginx->with_limit('1000r/h',
    'rate_limit_redis main { sentinel ' . $sentinel->address . '; shard a master=m; check_timeout 2s; }', key => 'k');
$nginx->wait_log(qr/sentinels name \Q${\ $old->address}\E as the primary/);
$sentinel->set(primary => primary($new, 4));
my $asked = () = $sentinel->commands('sentinel');
wait_until { $sentinel->commands('sentinel') > $asked + 8 } what => 'some rounds';
is $nginx->count_log(qr/before it was/), 0, 'one of three is not believed what is older';
$sentinel->set(primary => primary($newest, 6));
$nginx->wait_log(qr/sentinels name \Q${\ $newest->address}\E as the primary/);
pass 'what is newer it is';

done;

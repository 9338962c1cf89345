# A machine is cut off from Redis for longer than slots last: it lets in none meanwhile, others get its slots though its requests still run, and
# when it is back, no request is let in until fewer run than the limit says.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(own_time => 1);
my $way     = RateLimit::Proxy->start(to => $redis->port);
my $backend = RateLimit::Backend->start;
my ($cut, $other) = map {
    RateLimit::Nginx->start(
        up => $backend, clock => 1, workers => 2, http => redis_block('main', $_, 'check_timeout 2s; connect_timeout 2s;'),
        server => 'rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;
            location / { rate_limit_concurrency 4 key=$arg_k store=main; proxy_pass http://%%UP%%; }')
} $way, $redis;
sub held () { return join ' ', sort map { /^([1-9]\d*) / } values %{$redis->hash('rl:concurrency/n:a')} }
sub travel ($seconds) { $redis->travel($seconds); $_->travel("+$seconds") for $cut, $other; return }
sub are_rejected ($what) { is_deeply [map { outcome($_->get('/x?k=a')) } $cut, $other], [('429 REJECTED') x 2], $what; return }

my @cut   = map { $cut->reach($backend, '/slow?k=a') } 1 .. 3;
my @other = $other->reach($backend, '/slow?k=a');
are_rejected('four run');

$way->stop;
travel(16);
is outcome($other->get('/x?k=a')), '429 REJECTED', 'after sixteen seconds the machine that is cut off still holds its slots';
travel(31);
push @other, map { $other->reach($backend, '/slow?k=a') } 1 .. 3;
is held(), '4', 'after thirty others have them';
is outcome($other->get('/x?k=a')), '429 REJECTED', '... and no more';
my @of_cut;
wait_until { push @of_cut, outcome($cut->get('/x?k=a')); $of_cut[-1] eq '503 ERROR_DENIED' } what => 'the machine to ask, and find nobody';
push @of_cut, outcome($cut->get('/x?k=a'));
is_deeply [grep { !/^(429 REJECTED|503 ERROR_DENIED)$/ } @of_cut], [], 'the machine itself lets in none';

$way->restart;
wait_until { held() eq '3 4' } what => 'what runs to be held';
$cut->wait_up_again;
wait_until { outcome($cut->get('/x?k=a')) eq '429 REJECTED' } what => 'the machine to ask again';
are_rejected('seven run, for once');
$_->abort for splice @other, 0, 3;
wait_until { held() eq '1 3' } what => 'three to end';
are_rejected('four run, and no more are let in');
(pop @cut)->abort;
wait_until { held() eq '1 2' } what => 'one to end';
let_pass(0.06);    # a machine that was told that the limit is reached asks again
push @other, $other->reach($backend, '/slow?k=a');
are_rejected('another one is let in, and no second one');

$backend->release('gate');
is_deeply outcomes(map { $_->response } @cut, @other), {'200 PASSED' => 4}, 'all end';
wait_until { held() eq '' } what => 'all slots to go back';
is outcome($_->get('/x?k=a')), '200 PASSED', 'each machine may have one' for $cut, $other;

done;

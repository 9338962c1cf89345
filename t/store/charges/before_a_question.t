# What is queued for a window leaves before the primary is asked about that window, even while another batch is not answered:
# what was given back is there for the next reservation, and an answer counts what was charged.

use RateLimit::Test;

my $reset = (time + 1800) . '000';
my %name  = (9 => 'refund', 8 => 'charge', 10 => 'reserve');    # scripts, by how many words a call has
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, $key) = $words->[0] eq 'evalsha' ? ($name{@$words} // '', $words->[3]) : @$words;
    return hmget(1, $reset) if $command eq 'hmget';
    my $answer =
          $command eq 'hincrby' ? integer(2)
        : $command eq 'reserve' ? array(integer(1), integer(1), integer($reset))
        : $command              ? array(integer(0), integer(0))
        :                         fallback($words);
    return $conn->state('slow') && $key && $key =~ /slow/ ? $conn->hold('gate', $answer) : $answer;
});
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { $conn->hold('backend', [304, [], '']) });
my $nginx   = RateLimit::Nginx->start(
    clock  => 1,
    http   => redis_block('main', $redis, 'check_timeout 9s; fresh 1h;'),
    server => 'rate_limit_store main; rate_limit_key $http_x_key; location / { rate_limit 5r/h; }
        location /one { rate_limit 1r/h name=one mode=charge_refund; }
        location /held { rate_limit 1r/h name=one mode=charge_refund; proxy_pass http://' . $backend->address . '; }',
);

# The commands about this key, in order.
my sub commands ($key) {
    return map { $_->[0] eq 'evalsha' ? $name{@$_} // '?' : $_->[0] } grep { "@$_[1 .. $#$_]" =~ /:$key(?: |$)/ } $redis->commands;
}

# A batch is under way until the gate opens; what is charged after that is queued.
my sub begin_batch () {
    $redis->set(slow => 1);
    $redis->forget;
    is $nginx->get('/x', 'X-Key' => 'slow')->status, 200, 'another client';
    wait_until { grep { $_ eq 'hincrby' } commands('slow') } what => 'its charge, which is not answered yet';
    return;
}

my sub end_batch () {
    $redis->set(slow => '');
    $redis->release('gate');
    return;
}

is $nginx->get('/x', 'X-Key' => $_)->status, 200, "$_ is known" for qw(slow c);
wait_until { 2 == grep { $_->[0] eq 'hincrby' } $redis->commands } what => 'the charges';
my $held = $nginx->reach($backend, '/held', 'X-Key' => 'r');
begin_batch();
$backend->release('backend');
is $held->response->status, 304, 'an exempt response';
my $next = $nginx->begin('/one', 'X-Key' => 'r');
wait_until { commands('r') == 2 } what => 'what the next request sends';
is_deeply [commands('r')], [qw(refund reserve)], 'what it gives back leaves before the next reservation';
end_batch();
is $next->response->status, 200, 'which passes';

begin_batch();
is $nginx->get('/x', 'X-Key' => 'c')->status, 200, 'one more of a client' for 1 .. 3;
is_deeply [commands('c')], [], 'its charges are queued';
$nginx->travel('+60');    # they seem to be lost
my $last = $nginx->begin('/x', 'X-Key' => 'c');
wait_until { commands('c') == 2 } what => 'what the next request sends';
is_deeply [commands('c')], [qw(hincrby hmget)], 'they leave before the question whether the limit is reached';
end_batch();
is $last->response->status, 200, 'whose answer is less';

done;

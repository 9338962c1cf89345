# That a window is used up is known without a look at it for a minute at least. After that its store is asked once, and
# then it is known again; where the store does not answer, what the machine remembers still rejects.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary, $shards->replica);
my $nginx = RateLimit::Nginx->start(
    workers => 2, clock => 1,
    http    => $shards->block('main', always_checks()) . 'rate_limit_key $http_x_key; rate_limit_store main;
        add_header X-Outcome $rate_limit_status always;',
    server => 'location / { rate_limit 3r/d; }');

sub seen ($key) {
    my $r = $nginx->get('/x', 'X-Key' => $key);
    return join ' ', outcome($r), limits($r)->{used} // '-';
}

sub use_up ($key) {
    is_deeply [map { seen($key) } 1 .. 4], ['200 PASSED 1', '200 PASSED 2', '200 PASSED 3', '429 REJECTED 3'],
        "$key uses its limit up";
    wait_until { $primary->used($key, 'default/86400') == 3 } what => "the charges of $key";
    return;
}

sub stays_rejected ($asked, $what) {
    $_->forget_calls for $primary, $replica;
    is_deeply [map { seen('a') } 1 .. 20], [('429 REJECTED 3') x 20], "a stays rejected $what";
    is $replica->calls('hmget'), $asked, "for which $asked asked the replica";
    return;
}

# The first that is noted after a minute makes all others forgotten.
my $hours = 0;
sub forget ($key) {
    $nginx->travel('+' . ++$hours . 'h');
    use_up($key);
    return;
}

use_up('a');
stays_rejected(0, 'while that is known');

forget('b');
stays_rejected(1, 'when that is forgotten');

forget('c');
my $key = 'rl:default/86400:a';
$primary->cmd('SET', $key, 'no hash');
wait_until { $replica->cmd('TYPE', $key) eq 'string' } what => 'the replica';
stays_rejected(1, 'where the answer is an error');

forget('d');
$_->kill for $primary, $replica;
is_deeply [map { seen('a') } 1 .. 20], [('429 REJECTED 3') x 20], 'a stays rejected when nobody can be asked';
is seen('e'), '200 ERROR_ALLOWED -', 'a client not known is treated as an error';

done;

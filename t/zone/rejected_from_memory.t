# Once its limit is reached a client is rejected from memory, whatever it sends: Redis sees a call a second at most, and
# may as well be away. Every request is still measured by its own limit.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my ($primary, $replica) = ($shards->primary, $shards->replica);
my $other = RateLimit::Redis->start;

sub http ($rate) {
    return $shards->block('main') . redis_block('other', $other) . "
        rate_limit_key \$http_x_key; rate_limit_store main; rate_limit_log_level info;
        add_header X-Outcome \$rate_limit_status always; keepalive_requests 1000000;
        map \$http_x_rate \$rate { default \$http_x_rate; '' $rate; }
        server { listen 127.0.0.1:%%PORT_1%% http2; location / { rate_limit $rate; } }
        server { listen 127.0.0.1:%%PORT%%;
            location / { rate_limit $rate; }
            location = /rate { rate_limit \$rate; }
            location = /dry { rate_limit $rate dry_run=on; }
            location = /two { rate_limit $rate; rate_limit 900r/h name=two store=other; }
        }";
}
my $nginx = RateLimit::Nginx->start(workers => 2, log_level => 'notice', http => http('5r/h'));
my @key = ('X-Key' => 'a');

# Calls in a time that $action takes, and the most of it that may be.
sub calls ($action) {
    $_->forget_calls for $primary, $replica, $other;
    my $begun = monotonic();
    $action->();
    return ($primary->calls('hmget'), 1 + int(monotonic() - $begun + 1));
}

is_deeply statuses(map { $nginx->get('/x', @key) } 1 .. 5), {200 => 5}, 'the limit';
wait_until { $primary->used('a') == 5 } what => 'the charges';
my $reset = limits($nginx->get('/x', @key))->{reset};

my ($asked, $most) = calls(sub {
    my $load = h2load($nginx->port(1), '/x', requests => 30_000, clients => 8, streams => 10, headers => ['X-Key: a']);
    is $load->{4}, 30_000, '30,000 more are rejected';
});
cmp_ok $asked, '<=', $most, "the primary was asked $asked times, of $most seconds";
is $replica->calls('hmget'), 0, 'the replica never';
is $primary->calls('hincrby', 'evalsha'), 0, 'and nothing was charged';

($asked, $most) = calls(sub {
    my %run = (connections => 4, requests => 500);
    my @dry = $nginx->parallel(%run, uri => '/dry', headers => \@key);
    is_deeply statuses(@dry), {200 => 500}, 'a dry run lets all pass';
    is_deeply [grep { outcome($_) ne '200 REJECTED_DRY_RUN' || limits($_)->{remaining} } @dry], [], 'and says so';
    my @two = $nginx->parallel(%run, uri => '/two', headers => \@key);
    is_deeply statuses(@two), {429 => 500}, 'one of two limits rejects';
});
cmp_ok $asked, '<=', $most, 'from memory too';
cmp_ok $other->calls('hmget'), '<=', $most, 'and the store of the other limit is not asked';
is $primary->used('a'), 5, 'nothing was charged';
is_deeply [$other->keys], [], 'in neither store';

my $high = $nginx->get('/rate', @key, 'X-Rate' => '7r/h');
is outcome($high), '200 PASSED', 'a request with a higher limit passes at once';
is limits($high)->{used}, 6, 'in the same window';
is outcome($nginx->get('/rate', @key)), '429 REJECTED', 'one with the lower limit does not';
is outcome($nginx->get('/x', 'X-Key' => 'b')), '200 PASSED', 'another client is not touched';

$nginx->reload(http => http('8r/h'));
wait_until { $primary->used('a') == 6 } what => 'the charge';
is_deeply [map { outcome($nginx->get('/x', @key)) } 1 .. 3], ['200 PASSED', '200 PASSED', '429 REJECTED'],
    'a limit raised by a reload counts at once';
wait_until { $primary->used('a') == 8 } what => 'the charges';

$_->kill for $primary, $replica;
my $until = monotonic() + 1.5;
my @without;
push @without, $nginx->get('/x', @key) while monotonic() < $until;
is_deeply [grep { outcome($_) ne '429 REJECTED' } @without], [], 'without Redis it is rejected from memory';
is_deeply [grep { limits($_)->{reset} != $reset || limits($_)->{used} != 8 } @without], [], 'with what is known';
my $left = $reset - $without[-1]->date;
cmp_ok abs(limits($without[-1])->{retry_after} - $left), '<=', 1, 'Retry-After goes on';
is outcome($nginx->get('/x', 'X-Key' => 'c')), '200 ERROR_ALLOWED', 'a client not known is treated as an error';

done;

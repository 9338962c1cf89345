# lease auto: the next batch is fetched before this one is used up, so that nobody waits, even while Redis does not
# answer for a moment; batches of a busy key grow, and stay fair. Batches of fixed size are fetched when they are needed.

use RateLimit::Test;

my $redis = RateLimit::FakeRedis->start(handler => reserving((time + 1800) . '123'));
my $nginx = RateLimit::Nginx->start(
    http    => redis_block('main', $redis, timeouts('9s')) . '
        rate_limit_store main; rate_limit_mode lease; rate_limit_key $http_x_key;
        log_format waits "$http_x_key $rate_limit_store_time"; access_log %%DIR%%/waits waits;
        add_header X-Time $rate_limit_store_time; keepalive_requests 100000;',
    server => '
        location / { rate_limit 1000000r/h; }
        location /small { rate_limit 1000r/h name=small; }
        location /waits { rate_limit 20000r/h name=waits; }
        location /fixed { rate_limit 1000000r/h name=fixed; rate_limit_lease 500; }',
);

# What was asked for the key: want and least.
sub asked ($key) { return map { [@$_[5, 6]] } grep { $_->[3] =~ /:\Q$key\E$/ } $redis->commands('evalsha') }

sub load ($uri, $key, $count, $connections = 4) {
    my @responses = $nginx->parallel(connections => $connections, requests => $count, uri => $uri, headers => ['X-Key' => $key]);
    return grep { $_->status != 200 } @responses;
}

# A thousand requests at a time of one key.
my @calls;
for my $thousand (1 .. 5) {
    my $before = asked('busy');
    is scalar load('/x', 'busy', 1000), 0, "thousand $thousand passes";
    push @calls, asked('busy') - $before;
}
cmp_ok sum0(@calls), '<=', 4, "batches grow: @calls calls";
cmp_ok $calls[4], '<=', 2, 'the fifth thousand needs hardly any';
my @asked = asked('busy');
is $asked[0][0], 1000, 'the first batch is a thousandth of the limit';
cmp_ok $asked[-1][0], '>', 1000, 'the last is larger';
is scalar(grep { $asked[$_][0] > 1.5 * $asked[$_ - 1][0] + 1 } 1 .. $#asked), 0, 'by no more than half each time';
cmp_ok max(map { $_->[0] } @asked), '<=', 50_000, 'none is more than a twentieth of the limit';

# To the last token of a limit.
is scalar load('/small', 'small', 1000, 1), 0, 'all of a smaller limit is spent';
is $nginx->get('/small', 'X-Key' => 'small')->status, 429, 'and no more';
my ($spent, @unfair) = 0;
for my $want (map { $_->[0] } asked('small')) {
    push @unfair, "$want at $spent" if $want > max(1, (1000 - $spent) / 4) || $want > 50;
    $spent += $want;
}
is_deeply \@unfair, [], 'no batch is more than a quarter of what is left, nor than a twentieth of the limit';
cmp_ok max(map { $_->[0] } asked('small')), '>=', 20, 'many are much larger than the first';

# While a batch that is fetched ahead does not come, requests go on.
is scalar load('/waits', 'waits', 400, 1), 0, 'a busy key';
$redis->set(slow => 1);
my ($calls, $http, %times) = (scalar asked('waits'), $nginx->http);
sub wait_time () { return $http->get('/waits', 'X-Key' => 'waits')->header('X-Time') }
for (1 .. 1000) {
    $redis->set(turn => $_) for 1, 2;    # it has read what was sent before
    last if asked('waits') > $calls;
    $times{wait_time()}++;
}
is scalar(asked('waits')), $calls + 1, 'the next batch is asked for';
$times{wait_time()}++ for 1 .. 10;
is_deeply [keys %times], ['0.000'], 'those that come meanwhile do not wait';
is scalar(asked('waits')), $calls + 1, 'nor ask again';
cmp_ok +(asked('waits'))[-1][0], '>', 20, 'it is a batch';
is((asked('waits'))[-1][1], 1, 'that may be of one, as nobody waits for it');
$redis->set(slow => '')->release('gate');

# Batches of fixed size.
is scalar load('/fixed', 'fixed', 500), 0, 'a batch of fixed size is spent';
is_deeply [asked('fixed')], [[500, 1]], 'without another one being fetched';
is scalar load('/fixed', 'fixed', 1001), 0, 'two more, and one';
is_deeply [asked('fixed')], [([500, 1]) x 4], 'each when it is needed, and none larger';

is $nginx->count_log(qr/could not be checked|doubt|is down/), 0, 'nothing went wrong';

done;

# Tokens at hand are forgotten where the zone has no room for all keys, and requests ask for themselves: Redis stays right,
# and nobody passes beyond the limit.

use RateLimit::Test;

use constant {KEYS => 3000, LIMIT => 5};

my $redis = RateLimit::Redis->start;
my @nginx = map { RateLimit::Nginx->start(
    workers   => 2,
    log_level => 'notice',
    http      => redis_block('main', $redis) . '
        rate_limit_zone 128k; keepalive_requests 1000000; rate_limit_log_level info;
        rate_limit_mode lease; rate_limit_store main; rate_limit_key $http_x_key;
        rate_limit_on_error deny;',
    server => 'location / { rate_limit ' . LIMIT . 'r/h name=fixed; rate_limit_lease 2; }
        location /auto { rate_limit 3000r/h name=auto; }',
) } 1, 2;
my @keys = map { "k$_" } 1 .. KEYS;
my %passed;

sub round ($nginx, $name, $uri, @of) {
    my @responses = $nginx->parallel(connections => 20, requests => [map { [$uri, 'X-Key' => $_] } @of]);
    $responses[$_]->status == 200 and $passed{$name}{$of[$_]}++ for 0 .. $#of;
    return statuses(@responses);
}

my %count;
for my $round (1 .. 4) {
    for my $nginx (@nginx) {
        my $statuses = round($nginx, 'fixed', '/x', @keys);
        $count{$_} += $statuses->{$_} for keys %$statuses;
    }
}
is_deeply [sort keys %count], [200, 429], 'every request is decided';
my @used = $redis->used_of('fixed/3600', @keys);
is_deeply [grep { $_ > LIMIT } values %{$passed{fixed}}], [], 'nobody passes beyond the limit';
is_deeply [grep { $used[$_] != LIMIT } 0 .. $#keys], [], 'which is stored for all';
my $passed = sum0(values %{$passed{fixed}});
diag "$passed of ", KEYS * LIMIT, ' passed, the rest is at hand or forgotten';
cmp_ok $passed, '>', KEYS * LIMIT / 2, 'and most of it is spent';

my @few = @keys[0 .. 499];
is_deeply round($nginx[$_ % 2], 'auto', '/auto', @few), {200 => scalar @few}, 'batches that adapt: every request passes'
    for 1 .. 6;
my @auto = $redis->used_of('auto/3600', @few);
is_deeply [grep { $auto[$_] < 6 } 0 .. $#few], [], 'all that passed is stored';
$_->stop for @nginx;
my @end = $redis->used_of('auto/3600', @few);
is_deeply [grep { $end[$_] < 6 || $end[$_] > $auto[$_] } 0 .. $#few], [], 'and nothing comes back that was not at hand';
is $_->count_log(qr/rate limit: |could not be checked/), 0, 'not a word about it' for @nginx;

done;

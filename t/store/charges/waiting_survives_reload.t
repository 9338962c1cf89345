# Charges that wait for a primary wait for nginx, not for a worker: after reloads, and without a further request, the
# primary gets each of them once. A stop says what is lost.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(appendonly => 1);
my @longest = ('p' x 64, 'n' x 32, 'k' x 128);

sub nginx ($zone, %opt) {
    return RateLimit::Nginx->start(
        http => "rate_limit_zone $zone;
            rate_limit_redis main { shard a primary=@{[$redis->address]}; }
            rate_limit_redis long { prefix $longest[0]; shard a primary=@{[$redis->address]}; }",
        server => 'rate_limit_key $http_x_key; rate_limit_store main;
            location / { rate_limit 100r/h; }
            location /long { rate_limit 100r/366d name=' . $longest[1] . ' window=clock store=long; }',
        %opt,
    );
}
sub requests ($nginx, $name, $count) {
    my @responses = $nginx->parallel(connections => 4, requests => $count, uri => '/x', headers => ['X-Key' => $name]);
    return is_deeply statuses(@responses), {200 => $count}, "$name: $count requests pass";
}

my $nginx = nginx('1m', workers => 2);
requests($nginx, 'open', 3);
wait_until { $redis->used('open') == 3 } what => 'the first charges';
my $reset = $redis->stored('open')->{reset};
$redis->kill;
requests($nginx, 'open', 20);
requests($nginx, "new$_", $_) for 1 .. 4;
my %long = (connections => 2, requests => 3, uri => '/long', headers => ['X-Key' => $longest[2]]);
is_deeply statuses($nginx->parallel(%long)), {200 => 3}, 'the longest key there is';
$nginx->reload(wait_old => 1);
requests($nginx, 'open', 5);
requests($nginx, 'late', 2);
$nginx->reload(wait_old => 1);
my %options = (http => $nginx->{http}, server => $nginx->{server});
$nginx->reload(http => '', server => 'location / { }', wait_old => 1);
$nginx->reload(%options, wait_old => 1);
is $nginx->count_log(qr/are lost|starts anew/), 0, 'nothing is lost, through a configuration without limits neither';
$redis->restart;
wait_until { $redis->used('open') == 28 && $redis->used('late') == 2 && !grep { $redis->used("new$_") != $_ } 1 .. 4 }
    what => 'all that waited';
my $longest = "$longest[0]$longest[1]/31622400c:$longest[2]";
wait_until { ($redis->hash($longest)->{used} // 0) == 3 } what => 'those of the longest key';
is $redis->stored('open')->{reset}, $reset, 'in the same window';
is $redis->calls('hmget'), 0, 'no request brought it on';
cmp_ok $redis->calls('evalsha'), '<=', 7, 'no more than one charge for each window';
$nginx->stop;
is_deeply [$redis->used('open'), $redis->used('late'), map { $redis->used("new$_") } 1 .. 4], [28, 2, 1 .. 4], 'nothing comes twice';
is $nginx->count_log(qr/are lost/), 0, 'nothing waits at the end';

$nginx = nginx('128k');
requests($nginx, 'warm', 1);
wait_until { $redis->used('warm') == 1 } what => 'a connection';
$redis->kill;
requests($nginx, "end$_", 4) for 1 .. 2;
$nginx->stop;
is $nginx->count_log(qr/nginx ends while 8 charges of 2 windows wait for Redis: they are lost/), 1, 'a stop says so';
is $nginx->count_log(qr/are lost/), 1, 'once';

done;

# Of a client at its limit the primary is asked more and more rarely while its answer stays the same: after 1, 2, 4, 8 and
# then every 10 seconds. Another answer counts at once, and the intervals begin again.

use RateLimit::Test;
use POSIX qw(strftime);

my $begin = time;
my $reset = ($begin + 3000) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my $used = $conn->state('used');
    return hmget($used, $reset) if $words->[0] eq 'hmget';
    return integer($used + 1) if $words->[0] eq 'hincrby';
    return array(integer($used + 1), integer($reset)) if $words->[0] =~ /^eval/;
    return fallback($words);
});
my $nginx = RateLimit::Nginx->start(
    workers => 2, clock => 1,
    http    => redis_block('main', $fake, 'check_timeout 20s;'),
    server  => 'location / { rate_limit_key $http_x_key; rate_limit 5r/h store=main; }');

# nginx's clock stands still between its seconds, which are counted from the begin. After a request that passes, the test
# waits until its worker has read the answer to the charge: another key's check, on the same connections, is answered later.
my ($second, @asked, @passed) = (0);
sub pass_seconds ($count) {
    (@asked, @passed) = ();
    for (1 .. $count) {
        $nginx->travel(strftime '%Y-%m-%d %H:%M:%S', localtime $begin + ++$second);
        $fake->forget;
        my ($client, @statuses) = ($nginx->http);
        push @statuses, $client->get('/x', 'X-Key' => 'a')->status while @statuses < 3 && !grep { $_ == 200 } @statuses;
        push @asked, ($second) x $fake->commands('hmget');
        next if !grep { $_ == 200 } @statuses;
        push @passed, 200;
        wait_until { $fake->writes } what => 'the charge';
        $fake->set(used => 5);
        $client->get('/x', 'X-Key' => 'b');
    }
    return;
}

$fake->set(used => 5);
pass_seconds(58);
is_deeply \@passed, [], 'three requests a second, all rejected';
is_deeply \@asked, [1, 2, 4, 8, 16, 26, 36, 46, 56], 'the primary is asked more and more rarely';

$fake->set(used => 4);
pass_seconds(7);
is_deeply [\@passed, \@asked], [[], []], 'a lowered count is not heard at once';
pass_seconds(1);
is_deeply [\@passed, \@asked], [[200], [66]], 'but ten seconds after the last question; one request passes';
pass_seconds(17);
is_deeply \@passed, [], 'and no more';
is_deeply \@asked, [67, 69, 73, 81], 'the primary is asked often again, and then more rarely';

done;

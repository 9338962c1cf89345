# Several limits, local ones and those of a Redis store: where one rejects, none is charged and nothing stays in flight
# in the others, in whatever mode, order, phase or worker.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $nginx   = RateLimit::Nginx->start(
    workers => 4,
    log_level => 'notice',
    files   => {htpasswd => "ann:{PLAIN}secret\n"},
    http    => redis_block('main', $redis) . 'rate_limit_headers github ietf; rate_limit_log_level info;',
    server  => 'keepalive_requests 100000;
        location / { rate_limit 9r/h name=wide key=$http_x_user; rate_limit 1r/h name=narrow key=$http_x_address; }
        location /turned/ { alias %%DIR%%/html/; rate_limit 1r/h name=narrow key=$http_x_address;
            rate_limit 9r/h name=wide key=$http_x_user; }
        location /before/ { alias %%DIR%%/html/; rate_limit_mode charge_refund;
            rate_limit 9r/h name=wide-before key=$http_x_user cost=2;
            rate_limit 1r/h name=narrow-before key=$http_x_address; }
        location /redis/ { alias %%DIR%%/html/; rate_limit 9r/h name=wide key=$http_x_user;
            rate_limit 9r/h name=wide-before key=$http_x_user cost=2 mode=charge_refund;
            rate_limit 5r/h name=far key=$http_x_address store=main; }
        location /zero/ { alias %%DIR%%/html/; rate_limit 9r/h name=wide key=$http_x_user;
            rate_limit 0r/h name=zero key=z; }
        location /phases/ { alias %%DIR%%/html/; auth_basic x; auth_basic_user_file %%DIR%%/html/htpasswd;
            rate_limit 9r/h name=wide key=$http_x_user;
            rate_limit 9r/h name=wide-before key=$http_x_user cost=2 mode=charge_refund;
            rate_limit 1r/h name=narrow key=$http_x_address phase=precontent; }
        location /many/ { alias %%DIR%%/html/; rate_limit 100000r/h name=wide-many key=$http_x_user;
            rate_limit 100000r/h name=wide-many-before key=$http_x_user mode=charge_refund;
            rate_limit 100r/h name=narrow-many key=$http_x_address; }
        location /look/ { alias %%DIR%%/html/; rate_limit 9r/h name=wide key=$http_x_user cost=0;
            rate_limit 9r/h name=wide-before key=$http_x_user mode=charge_refund cost=0; }
        location /look-many/ { alias %%DIR%%/html/; rate_limit 100000r/h name=wide-many key=$http_x_user cost=0;
            rate_limit 100000r/h name=wide-many-before key=$http_x_user mode=charge_refund cost=0; }',
);
my @ann = ('Authorization' => 'Basic YW5uOnNlY3JldA==');

sub ask ($uri, $user, $address, @more) { return $nginx->get($uri, 'X-User' => $user, 'X-Address' => $address, @more) }

# Returns what remains of each limit, by a request to a location where it costs nothing.
sub left ($user, $uri = '/look/x') { return [ask($uri, $user, '')->header('RateLimit') =~ /;r=(\d+)/g] }

is_deeply [map { ask('/x', 'u', $_)->status } qw(a a b a)], [200, 429, 200, 429], 'the second limit rejects';
is_deeply left('u'), [7, 9], 'the first is charged for what passed';
my $rejected = ask('/x', 'u', 'a');
is_deeply [@{limits($rejected)}{qw(limit used resource)}], [1, 1, 'narrow'], 'the one that rejected is shown';
like $rejected->header('RateLimit'), qr/^"wide";r=7;t=\d+, "narrow";r=0;t=\d+$/, 'both are told';
is_deeply [map { ask('/turned/x', 'u', $_)->status } qw(a c a)], [429, 200, 429], 'so is the other order';
is_deeply left('u'), [6, 9], 'charged alike';
is_deeply [map { ask('/before/x', 'u', $_)->status } qw(a a b a)], [200, 429, 200, 429], 'charged before the request';
is_deeply left('u'), [6, 5], 'and given back';
is ask('/zero/x', 'u', 'a')->status, 429, 'a limit of nothing';
is_deeply left('u'), [6, 5], 'takes nothing from the one beside it';

$redis->cmd('HSET', 'rl:far/3600:full', used => 5, reset => 1000 * (time + 1800));
shows ask('/redis/x', 'u', 'full'), 429, {resource => 'far'}, 'Redis rejects';
is_deeply left('u'), [6, 5], 'the local ones keep nothing';
is ask('/redis/x', 'u', 'free')->status, 200, 'Redis admits';
is_deeply left('u'), [5, 3], 'they are charged as well';
is ask('/redis/x', $_, 'user is full')->status, 200, 'a new user' for ('v') x 4;
is ask('/redis/x', 'v', 'user is full')->status, 429, 'whom a local limit rejects';
is_deeply left('v'), [5, 1], 'the other one keeps nothing';
wait_until { $redis->used('user is full', 'far/3600') == 4 } what => 'charges in Redis';

is_deeply [map { ask('/phases/x', 'p', $_, @ann)->status } qw(pa pa)], [200, 429], 'a limit of a later phase rejects';
is_deeply left('p'), [8, 7], 'the earlier ones keep nothing';
is ask('/phases/x', 'p', 'pa')->status, 401, 'who fails to authenticate between them';
is_deeply left('p'), [7, 5], 'is charged by the earlier ones';

my $count = statuses($nginx->parallel(
    connections => 100, requests => 5000, uri => '/many/x', headers => ['X-User' => 'm', 'X-Address' => 'm']));
is_deeply $count, {200 => 100, 429 => 4900}, 'many at once over all workers';
is_deeply left('m', '/look-many/x'), [99_900, 99_900], 'what passed is charged everywhere, the rest nowhere';
is $redis->used('full', 'far/3600'), 5, 'rejected requests are not charged in Redis';

done;

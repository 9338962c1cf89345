# A machine asks the primary less and less often about a client whose bucket in Redis is empty, while nothing is given back to the bucket: after 1, 2, 4, 8
# and then every 10 seconds. It rejects the other requests by itself. What another machine gives back, and an operator's reset there, become known within
# ten seconds.

use RateLimit::Test;

# Without the time of Redis the bucket goes by the clocks of the machines, which stand still between the seconds of this test.
my $redis    = RateLimit::Redis->start(timeless => 1);
my $backend  = RateLimit::Backend->start;
my @machines = map {
    RateLimit::Nginx->start(
        workers => 2, clock => 1, up => $backend,
        http    => timeless_block('main', $redis) . 'rate_limit_key $http_x_key; rate_limit_store main;',
        server  => 'add_header X-Worker $pid always; location /limits/ { rate_limit_console manage; }
            location / { rate_limit 1r/h burst=3 name=core; proxy_pass http://%%UP%%; }')
} 1 .. 2;
my ($here, $there) = @machines;
$_->stand_at(1_800_000_000) for @machines;

# Each worker first learns that Redis does not tell it the time: it would not ask about a key that is used up.
my ($warm, %workers) = 0;
wait_until { ++$workers{$here->get('/x', 'X-Key' => 'warm' . ++$warm)->header('X-Worker')}; keys %workers == 2 } what => 'both workers';

# Sends three requests here in each of so many seconds, or until one passes. Notes the seconds in which one passed, and those in which the
# primary was asked.
my $second = 0;
my (@passed, @asked);
my sub pass_seconds ($count) {
    (@passed, @asked) = ();
    for (1 .. $count) {
        ++$second;
        $_->stand_at(1_800_000_000 + $second) for @machines;
        my $before = $redis->script_calls;
        push @passed, map { $here->get('/x', 'X-Key' => 'a')->status == 200 ? $second : () } 1 .. 3;
        push @asked, ($second) x ($redis->script_calls - $before);
        return if @passed;
    }
}

my $open = $there->reach($backend, '/slow?status=304', 'X-Key' => 'a');
pass_seconds(1);
is_deeply [\@passed, \@asked], [[1, 1], [1, 1]], 'two of three tokens, the other machine has the third';
pass_seconds(60);
is_deeply [\@passed, \@asked], [[], [2, 4, 8, 16, 26, 36, 46, 56]], 'the bucket is empty: the primary is asked more and more rarely';

my $stored = $redis->cmd('GET', 'rl:core/3600b:a');
$backend->release('gate');
is $open->response->status, 304, 'the other machine gives its token back';
wait_until { $redis->cmd('GET', 'rl:core/3600b:a') ne $stored } what => 'Redis to have it';
pass_seconds(20);
is_deeply [\@passed, \@asked], [[66], [66]], '... which is heard of ten seconds after the last question';
pass_seconds(16);
is_deeply [\@passed, \@asked], [[], [67, 69, 73, 81]], '... and from then on the primary is asked often again, and then more rarely';

is $there->post('/limits/key', 'do=reset&key=a&limit=core', 'Content-Type' => 'application/x-www-form-urlencoded')->status, 200, 'an operator resets it there';
pass_seconds(20);
is_deeply [\@passed, $asked[0]], [[91, 91, 91], 91], '... which is heard of ten seconds later';

done;

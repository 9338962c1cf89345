# A graceful stop gives back all tokens at hand, at once, whichever worker had fetched them; where Redis is away, nginx does
# not wait for it, and logs what is lost. A fast stop gives nothing back.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start(appendonly => 1);
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) { return $conn->hold('gate', [$request->{uri} =~ /free/ ? 304 : 200, [], 'ok']) });
my $proxy = RateLimit::Proxy->start(to => $redis->port);
my @keys = map { "k$_" } 1 .. 8;
my $lost = qr/nginx ends before it could give back tokens and charges of 8 windows in Redis: these count as used until the windows end/;

sub start ($name, %opt) {
    my $patience = $opt{patience} // '99s';    # longer than the end of nginx is waited for
    my $connect  = 'connect_timeout ' . ($opt{connect} // '9s') . ';';
    my $check    = 'check_timeout ' . ($opt{check} // '9s') . ';';
    return RateLimit::Nginx->start(
        workers => $opt{workers} // 4, up => $backend,
        http    => redis_block('main', $opt{to} // $redis, "$connect $check charge_timeout $patience;") . '
            rate_limit_mode lease; rate_limit_store main; rate_limit_key $http_x_key; add_header X-Worker $pid always;
            server { listen 127.0.0.1:%%PORT%% reuseport;
                rate_limit 1000000r/h name=' . $name . '; rate_limit_lease 100;
                location / { } location /slow { proxy_pass http://%%UP%%; } location /unlimited { rate_limit off; }
                location /unlimited/slow { rate_limit off; proxy_pass http://%%UP%%; } }',
    );
}

# Returns the sum that is stored for all keys.
sub used ($name) { return sum0($redis->used_of("$name/3600", @keys)) }

# Sends so many requests, to every worker. All pass, and each is spent of a batch.
sub spend ($nginx, $name, $count = 200) {
    my %workers;
    my $passed = 0;
    wait_until {
        my @responses = $nginx->parallel(connections => 16, requests => [map { ['/x', 'X-Key' => $_] } (@keys) x ($count / @keys)]);
        $passed += statuses(@responses)->{200} // 0;
        $workers{$_->header('X-Worker')} = 1 for @responses;
        keys %workers == 4
    } what => 'every worker to have served';
    cmp_ok used($name), '>', $passed, "$name: tokens are at hand";
    return $passed;
}

# An nginx, and how many requests have passed there.
sub spending ($name, %opt) {
    my $nginx = start($name, %opt);
    return ($nginx, spend($nginx, $name));
}

my ($running, $spent) = spending('running');

my ($nginx, $passed) = spending('idle');
ok eval { $nginx->stop }, 'it ends at once';
is used('idle'), $passed, 'with what was spent';

($nginx, $passed) = spending('dropped');
$redis->drop_clients;
ok eval { $nginx->stop }, 'also after its connections were';
is used('dropped'), $passed, 'with what was spent';

# Workers that do not know of the tokens yet stay longer than the one that does.
$nginx = start('hurry');
$backend->forget;
my %to;
wait_until { my $http = $nginx->http; $to{$http->get('/unlimited')->header('X-Worker')} = $http; keys %to == 4 }
    what => 'connections to all workers';
my ($first, @longer) = keys %to;
$to{$_}->start_request('GET', '/unlimited/slow') for @longer;
wait_until { $backend->requests == @longer } what => 'requests under way';
is $to{$first}->get('/x', 'X-Key' => 'k1')->status, 200, 'hurry: a request passes';
kill QUIT => $nginx->pid;
wait_until { RateLimit::Process::state_of($first) !~ /[^Z]/ || used('hurry') == 1 } what => 'the worker to leave';
$backend->release('gate');
is_deeply statuses(map { $to{$_}->response } @longer), {200 => 3}, 'others end later';
$_->close for values %to;
$nginx->stop;
is used('hurry'), 1, 'with what was spent';

# A batch may come after the tokens at hand have been given back.
$nginx = start('late', workers => 1, to => $proxy);
is $nginx->get('/x', 'X-Key' => 'k1')->status, 200, 'late: a request passes';
$proxy->stall('answers');
(my $client = $nginx->http)->start_request('GET', '/x', ['X-Key' => 'k2']);
wait_until { used('late') == 200 } what => 'the batch of another';
kill QUIT => $nginx->pid;
wait_until { used('late') == 101 } what => 'the tokens at hand';
$proxy->flow;
is $client->response->status, 200, 'the other passes, too';
ok eval { $nginx->stop }, 'then nginx ends';
is used('late'), 2, 'with what was spent';

# Requests that end while nginx does, which all workers know to have tokens.
my @open = map { $running->reach($backend, $_ % 2 ? '/slow/free' : '/slow', 'X-Key' => 'k1') } 0 .. 11;
kill QUIT => $running->pid;
wait_until { used('running') <= $spent + @open } what => 'what nobody has';
$backend->release('gate');
is_deeply statuses(map { $_->response } @open), {200 => 6, 304 => 6}, 'running: they end';
ok eval { $running->stop }, 'then so does nginx';
is used('running'), $spent + 6, 'with what was spent';
is $_->count_log(qr/rate limit: |open socket/), 0, 'not a word about it' for RateLimit::Nginx::started();

($nginx, $passed) = spending('slow', check => '300ms', patience => '5s');
$redis->freeze;
is $nginx->get('/x', 'X-Key' => 'new')->status, 200, 'slow: a request passes without an answer';
$nginx->wait_log(qr/does not serve/);
kill QUIT => $nginx->pid;
$nginx->wait_log(qr/gracefully shutting down/);
select undef, undef, undef, 0.5;    # nothing else tells that the last worker has looked
$redis->thaw;
$nginx->stop;
is used('slow'), $passed, 'a primary that is only late is waited for';

($nginx, $passed) = spending('frozen', patience => '1s', connect => '1s');
my $before = used('frozen');
$redis->freeze;
ok eval { $nginx->stop }, 'a frozen Redis is waited for no longer than charge_timeout, and connect_timeout for a new connection';
$redis->thaw;
is $nginx->count_log($lost), 1, 'what is lost is said';

($nginx, $passed) = spending('away');
$redis->kill;
ok eval { $nginx->stop }, 'one that is not there is not waited for';
is $nginx->count_log($lost), 1, 'what is lost is said';
is $nginx->count_log(qr/open socket/), 0, 'no socket is left open';
$redis->restart;

($nginx, $passed) = spending('fast');
$before = used('fast');
kill TERM => $nginx->pid;
wait_until { !$nginx->alive } what => 'the end';
is used('fast'), $before, 'a fast stop gives nothing back';

done;

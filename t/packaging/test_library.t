# The test library itself, against a plain nginx and a real redis-server.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return $conn->hold('gate', [200, [], 'slow']) if $request->{uri} eq '/slow';
    return [304, [ETag => '"a"']] if $request->{uri} eq '/same';
    return [200, ['X-Twice' => 1, 'X-Twice' => 2], "$request->{method} $request->{body}"];
});

my $server = <<'CONF';
    location = /ok { return 200 "ok\n"; }
    location = /limits {
        add_header X-RateLimit-Limit 5;
        add_header X-RateLimit-Remaining 3;
        add_header Retry-After 7;
        return 200 "";
    }
    location = /late { return 444; }
    location /static/ { alias %%DIR%%/html/; }
    location / {
        proxy_pass http://127.0.0.1:BACKEND;
        proxy_http_version 1.1;
        proxy_set_header Connection '';
    }
CONF
$server =~ s/BACKEND/$backend->port/e;
my $h2 = 'server { listen 127.0.0.1:%%PORT_1%% http2; location / { return 200 "two $http_x_key"; } }';
my @plain = (module => undef);
my $nginx = RateLimit::Nginx->start(@plain, workers => 2, http => $h2, server => $server, clock => 1);

subtest 'HTTP' => sub {
    my $r = $nginx->get('/ok');
    is $r->status, 200;
    is $r->body,   "ok\n";
    is $r->header('content-type'), 'text/plain';
    is_deeply limits($nginx->get('/limits')), {limit => 5, remaining => 3, retry_after => 7};
    is_deeply [$nginx->get('/x')->all('x-twice')], [1, 2];
    is $nginx->head('/x')->body, '';
    is $nginx->post('/x', 'words')->body, 'POST words';
    is $nginx->get('/same')->status, 304;
    $r = $nginx->get('/static/x');
    is $r->body, "x\n";
    is $nginx->get('/static/x', 'If-None-Match' => $r->header('ETag'))->status, 304;
    my $http = $nginx->http;
    my @r = $http->pipeline(['GET', '/ok'], ['HEAD', '/ok'], ['GET', '/none'], ['GET', '/ok']);
    is_deeply [map { $_->status } @r], [200, 200, 200, 200];
    is $http->get('/ok')->body, "ok\n", 'kept alive';
    ok !eval { $nginx->get('/late'); 1 }, 'no response dies';
    is http2($nginx->port(1), '/', 'X-Key' => 'a')->body, 'two a';
    is h2load($nginx->port(1), '/', requests => 20, streams => 4)->{2}, 20;
};

subtest 'held answers' => sub {
    my $http = $nginx->begin('/slow');
    wait_until { grep { $_->[1] eq '/slow' } $backend->requests };
    ok $http->quiet(0.05), 'nothing yet';
    $backend->release('gate');
    is $http->response->body, 'slow';
    my $gone = $nginx->begin('/slow');
    wait_until { 2 == grep { $_->[1] eq '/slow' } $backend->requests };
    $gone->abort;
    $nginx->wait_log(qr/(?:prematurely closed|timed out|Connection reset)/i);
    $backend->release('gate');
};

subtest 'many requests' => sub {
    my $start = monotonic();
    my @r = $nginx->parallel(connections => 400, requests => 4000, uri => '/ok');
    note sprintf '4000 requests in %.2f s', monotonic() - $start;
    is_deeply statuses(@r), {200 => 4000};
    @r = $nginx->parallel(connections => 3, requests => [map { ["/$_"] } 1 .. 30], keepalive => 0);
    is_deeply statuses(@r), {200 => 30};
    @r = $nginx->parallel(connections => 3, requests => 9, method => 'HEAD', uri => '/ok');
    is_deeply statuses(@r), {200 => 9};
    is_deeply statuses($nginx->parallel(connections => 2, requests => 4, uri => '/late')), {0 => 4};
};

subtest 'nginx' => sub {
    my @workers = $nginx->workers;
    is @workers, 2;
    $nginx->reload(wait_old => 1, server => 'location / { return 201 ""; }');
    is $nginx->get('/')->status, 201, 'new configuration';
    my %old = map { $_ => 1 } @workers;
    ok !(grep { $old{$_} } $nginx->workers), 'new workers';
    $nginx->kill_worker;
    is $nginx->workers, 2, 'replaced';
    ok !eval { $nginx->reload(server => 'nonsense;'); 1 }, 'failed reload';
    like $@, qr/unknown directive "nonsense"/;
    $nginx->expect_log(qr/unknown directive "nonsense"/);
    is_deeply [$nginx->complaints], [], 'what was expected is no complaint';
    CORE::kill KILL => ($nginx->workers)[0];
    $nginx->wait_log(qr/exited on signal 9.*exited on signal 9/s);
    is_deeply [map { /(exited on .*)/ } $nginx->complaints], ['exited on signal 9'], 'a death is a complaint';
    $nginx->expect_log(qr/exited on signal 9/);
    wait_until { $nginx->workers == 2 };
    my $before = $nginx->get('/')->date;
    $nginx->travel('+86400');
    wait_until { $nginx->get('/')->date - $before >= 86400 } what => 'tomorrow';
    my ($code, $output) = RateLimit::Nginx->test_config(@plain, server => 'nonsense;');
    isnt $code, 0;
    like $output, qr/unknown directive "nonsense"/;
    ($code, $output) = RateLimit::Nginx->test_config(@plain, conf => "events {}\nhttp { %%HTTP%% }");
    is $code, 0 or diag $output;
};

subtest 'Redis' => sub {
    my $shards = RateLimit::Shards->start(2, replicas => 1, redis => {password => 'secret'});
    like $shards->block('main', 'prefix x:;'),
        qr/^rate_limit_redis main \{\n    shard a primary=127.0.0.1:\d+ replica=127.0.0.1:\d+;\n    shard b /;
    my $primary = $shards->primary(1);
    is_deeply [$primary->keys], [], 'no marker stays';
    $primary->cmd('HSET', 'k', 'used', 3);
    $shards->wait_synced;
    is_deeply $shards->replica(1)->hash('k'), {used => 3};
    is $shards->find('k'), $primary;
    $primary->forget_calls;
    $primary->pipeline(map { ['HMGET', 'k', 'used', 'reset'] } 1 .. 3);
    is $primary->calls('hmget'), 3;
    like $shards->replica->ask('SET', 'a', 1), qr/^READONLY/;
    ok !eval { $shards->replica->cmd('SET', 'a', 1); 1 };
    $primary->freeze;
    is $shards->primary->cmd('PING'), 'PONG';
    $primary->thaw->restart;
    is_deeply [$primary->keys], [], 'empty after a restart';
    $shards->replica(1)->wait_synced;

    my $kept = RateLimit::Redis->start(appendonly => 1, unixsocket => 1, acl => ['user bob on >b ~* +@all']);
    $kept->cmd('SET', 'a', 1);
    like $kept->address, qr/^unix:/;
    is $kept->restart->cmd('GET', 'a'), 1, 'kept by its log';
    is $kept->cmd('AUTH', 'bob', 'b'), 'OK';

    my $wrapper  = "#!/bin/sh\nexec redis-server \"\$@\" --proc-title-template";
    my @wrappers = map { write_text(test_folder() . "/server-$_", "$wrapper $_\n") } 1, 2;
    chmod 0755, @wrappers;
    local $ENV{REDIS_SERVER} = $wrappers[0];
    my @titles = map { $_->cmd('CONFIG', 'GET', 'proc-title-template')->[1] } RateLimit::Redis->start,
        RateLimit::Redis->start(binary => $wrappers[1]);
    is_deeply \@titles, [1, 2], 'another server: by the environment, or as told';
};

subtest 'ports' => sub {
    my $prefix = test_folder() . '/ports';
    my @tests = map {
        my $path = "$prefix-$_";
        RateLimit::Process->start(name => 'a test', run => sub {
            write_text($path, join "\n", map { free_port() } 1 .. 100);
            let_pass(60);
        })
    } 1 .. 4;
    wait_until { 4 == grep { 100 == (() = read_text("$prefix-$_") =~ /\b\d{5}\b/g) } 1 .. 4 } what => 'the ports of four tests';
    my %times;
    $times{$_}++ for map { split /\n/, read_text("$prefix-$_") } 1 .. 4;
    is keys %times, 400, 'tests that begin at one number get ports of their own';
    $_->kill for @tests;
};

subtest 'a fake Redis' => sub {
    my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        return $conn->close(1) if $words->[0] eq 'quit';
        return $conn->hold('gate', hmget(1, undef)) if $words->[0] eq 'hmget' && $conn->state('slow');
        return hmget(2, 5) if $words->[0] eq 'hmget';
        return $conn->later(0.05, array(integer(1), bulk("a\r\n"), nil)) if $words->[0] eq 'evalsha';
        return fallback($words);
    });
    my $client = bless {port => $fake->port}, 'RateLimit::Redis';
    my @answers = $client->pipeline(['HMGET', 'k'], ['EVALSHA', 'x'], ['PING']);
    is_deeply \@answers, [[2, 5], [1, "a\r\n", undef], 'PONG'];
    is_deeply [map { $_->[0] } $fake->commands], ['hmget', 'evalsha', 'ping'];
    is $fake->commands('ping'), 1;
    $fake->set(slow => 1);
    my $http = RateLimit::HTTP->new(port => $fake->port);
    $http->send(RateLimit::RESP::encode('HMGET', "k \xff\n") . RateLimit::RESP::encode('PING'));
    ok $http->quiet(0.05), 'answers keep their order';
    is_deeply [$fake->commands('hmget')]->[-1], ['hmget', "k \xff\n"];
    $fake->release('gate');
    wait_until { !$http->quiet(0.01) };
    is $http->{buffer} , "*2\r\n\$1\r\n1\r\n\$-1\r\n+PONG\r\n";
    is $fake->connections, 2;
    $http->send(RateLimit::RESP::encode('QUIT'));
    ok $http->at_end;
    $fake->drop;
    ok !eval { $client->cmd('PING'); 1 }, 'dropped';
    is $client->cmd('PING'), 'PONG', 'connected again';
    $fake->stop;
    ok !eval { RateLimit::HTTP->new(port => $fake->port); 1 }, 'refused';
    $fake->restart;
    delete $client->{connection};
    is $client->cmd('PING'), 'PONG', 'back';
};

subtest 'a fake of Sentinel and of a cluster' => sub {
    my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        return nested(['name', 'mymaster', 'port', 7000]) if $words->[0] eq 'sentinel';
        return error('MOVED 5 127.0.0.1:7001') if $words->[0] eq 'hmget';
        return cluster_slots([0, 5, '::1:7000', [undef, 7001, 'x', ['hostname', 'a.test']]], [6, 16_383, ['', 7002, 'y']])
            if $words->[0] eq 'cluster';
        return fallback($words);
    });
    my $client = bless {port => $fake->port}, 'RateLimit::Redis';
    my ($fields, $moved, $asking, $slots) =
        $client->pipeline(['SENTINEL', 'MASTER', 'mymaster'], ['HMGET', 'k'], ['ASKING'], ['CLUSTER', 'SLOTS']);
    is_deeply $fields, ['name', 'mymaster', 'port', 7000];
    is "$moved", 'MOVED 5 127.0.0.1:7001';
    is $asking, 'OK';
    is_deeply $slots, [
        [0, 5, ['::1', 7000, sprintf '%040d', 7000], [undef, 7001, 'x', ['hostname', 'a.test']]],
        [6, 16_383, ['', 7002, 'y']],
    ];
    my $http = RateLimit::HTTP->new(port => $fake->port);
    $http->send(RateLimit::RESP::encode('CLUSTER', 'SLOTS'));
    wait_until { !$http->quiet(0.01) };
    like $http->{buffer}, qr/^\*2\r\n\*4\r\n:0\r\n:5\r\n\*3\r\n\$3\r\n::1\r\n:7000\r\n\$40\r\n/, 'numbers are numbers';
};

subtest 'a proxy' => sub {
    my $redis  = RateLimit::Redis->start;
    my $proxy  = RateLimit::Proxy->start(to => $redis->port);
    my $client = bless {port => $proxy->port}, 'RateLimit::Redis';
    is $client->cmd('SET', 'a', 'b' x 300_000), 'OK';
    is length $client->cmd('GET', 'a'), 300_000;
    $proxy->stall('answers');
    my $http = RateLimit::HTTP->new(port => $proxy->port);
    $http->send(RateLimit::RESP::encode('SET', 'b', 1));
    wait_until { $redis->cmd('EXISTS', 'b') };
    ok $http->quiet(0.05), 'stalled';
    $proxy->flow;
    wait_until { !$http->quiet(0.01) };
    is $http->{buffer}, "+OK\r\n";
    $proxy->drop;
    ok $http->at_end, 'cut';
};

subtest 'a proxy in front of a server that is far away' => sub {
    my $redis  = RateLimit::Redis->start;
    my $proxy  = RateLimit::Proxy->start(to => $redis->port, distance => 0.06);
    my $client = bless {port => $proxy->port}, 'RateLimit::Redis';
    my $asks   = sub (@words) { my $begin = monotonic(); return ($client->cmd(@words), monotonic() - $begin) };
    my ($answer, $took) = $asks->('SET', 'a', 1);
    is $answer, 'OK';
    cmp_ok $took, '>=', 0.24, 'a connection takes a round trip more';
    ($answer, $took) = $asks->('GET', 'a');
    is $answer, 1;
    cmp_ok $took, '>=', 0.12, 'a question and its answer take one';
    my @far = map { ['INCR', 'b'] } 1 .. 3;
    my $http = RateLimit::HTTP->new(port => $proxy->port);
    $http->send(join '', map { RateLimit::RESP::encode(@$_) } @far[0, 1]);
    $proxy->move(0);
    $http->send(RateLimit::RESP::encode(@{$far[2]}) . RateLimit::RESP::encode('QUIT'));
    wait_until { $http->at_end } what => 'the end';
    is $http->{buffer}, ":1\r\n:2\r\n:3\r\n+OK\r\n", 'what was sent when it was further away comes first, and then the end';
    my ($least) = sort { $a <=> $b } map { ($asks->('GET', 'b'))[1] } 1 .. 5;
    cmp_ok $least, '<', 0.12, 'it has come nearer';
    $proxy->move(0.06)->freeze;
    ok +RateLimit::HTTP->new(port => $proxy->port), 'frozen, it still takes connections';
    $proxy->thaw;
    $proxy->restart;
    delete $client->{connection};
    cmp_ok +($asks->('GET', 'b'))[1], '>=', 0.24, 'a restart leaves it where it is';
};

done;

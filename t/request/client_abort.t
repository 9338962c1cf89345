# Clients that leave while the store is silent, many, over HTTP/1 and HTTP/2: 499, not charged, and answers
# that come late find nobody.

use RateLimit::Test;

my $slow  = RateLimit::FakeRedis->start(handler => holding_reads());
my $quick = RateLimit::FakeRedis->start(handler => taking(sub ($nth, $conn, $taken) { return $taken }));
my $nginx = RateLimit::Nginx->start(
    http => redis_block('slow', $slow, timeouts('20s')) . redis_block('quick', $quick) . '
        log_format short "$status $rate_limit_status $http_x_key";
        rate_limit_store slow; rate_limit_key $http_x_key;
        server { listen 127.0.0.1:%%PORT_1%% http2; access_log %%DIR%%/short short;
            location / { rate_limit 9r/h; } }',
    server => 'access_log %%DIR%%/short short;
        location / { rate_limit 9r/h store=quick; rate_limit 99r/h name=b; }
        location /pre { rate_limit 9r/h store=quick; rate_limit 9r/h name=b phase=precontent; }',
);

sub charged () { return map { "@$_" =~ /(rl:\S+)/ } map { $_->writes } $slow, $quick; }

my @clients = map { $nginx->begin('/x', 'X-Key' => 'gone') } 1 .. 100;
wait_until { $slow->commands('hmget') == 100 } what => 'the checks';
$_ % 2 ? $clients[$_]->abort : $clients[$_]->close for 0 .. $#clients;
wait_until { $nginx->lines('short') == 100 } what => 'the log';
is_deeply [grep { $_ ne '499 - gone' } $nginx->lines('short')], [], 'each ends with 499, undecided';

my $half = $nginx->begin('/pre', 'X-Key' => 'half');
wait_until { $slow->commands('hmget') == 101 } what => 'the precontent check';
$half->abort;
wait_until { $nginx->lines('short') == 101 } what => 'the log';
is(($nginx->lines('short'))[100], '499 - half', 'also between two phases');

my @h2load = (qw(h2load -n 50 -c 1 -m 50 -H), 'X-Key: gone', 'http://127.0.0.1:' . $nginx->port(1) . '/x');
my $client = RateLimit::Process->start(command => \@h2load, output => '/dev/null');
wait_until { $slow->commands('hmget') == 151 } what => 'the checks of 50 streams';
$client->kill;
wait_until { $nginx->lines('short') == 151 } what => 'the log';
is_deeply [grep { $_ ne '499 - gone' } ($nginx->lines('short'))[101 .. 150]], [], 'as do 50 streams';

$slow->release('gate');
my $http = $nginx->begin('/x', 'X-Key' => 'here');
wait_until { $slow->commands('hmget') == 152 } what => 'another check';
$slow->release('gate');
is $http->response->status, 200, 'answers that come late do no harm';
wait_until { charged() == 2 } what => 'charges';
$nginx->stop;
is_deeply [sort(charged())], ['rl:b/3600:here', 'rl:default/3600:here'], 'nobody who left is charged';

done;

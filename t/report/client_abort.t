# Clients that leave while their report waits for the store, over HTTP/1 and HTTP/2, within a page and after a redirect: the others get their
# report, answers that come late find nobody, and what an earlier limit has admitted is charged.

use RateLimit::Test;

my $slow  = RateLimit::FakeRedis->start(handler => holding_reads());
my $nginx = RateLimit::Nginx->start(
    http => redis_block('slow', $slow, timeouts('20s')) . '
        log_format short "$status $rate_limit_status $uri";
        rate_limit_store slow; rate_limit_key $http_x_key;
        server { listen 127.0.0.1:%%PORT_1%% http2; access_log %%DIR%%/short short;
            location / { rate_limit_report; rate_limit 9r/h; } }',
    server => 'access_log %%DIR%%/short short;
        location = /report { rate_limit_report; rate_limit 9r/h; rate_limit 9r/h name=b; }
        location = /quiet { access_log off; return 204; }
        location = /first { rate_limit 9r/h name=first store=local; try_files /none /report; }
        location = /page { ssi on; ssi_types *; }',
    files => {page => '<!--#include virtual="/report" -->|<!--#include virtual="/report" -->'},
);
my sub gone ($count, $what) {
    wait_until { $nginx->lines('short') == $count } what => $what;
    is_deeply [grep { !/^499 / } $nginx->lines('short')], [], "$what: 499";
    return;
}

my @clients = map { $nginx->begin('/report', 'X-Key' => 'a') } 1 .. 40;
wait_until { $slow->commands('hmget') == 2 } what => 'the reads';
$nginx->get('/quiet');    # answered after all of them have been read
$_ % 2 ? $clients[$_]->abort : $clients[$_]->close for 0 .. $#clients - 1;
gone(39, 'clients that leave, the first of them, too');
$slow->release('gate');
is $clients[-1]->response->status, 200, 'the one that stayed gets its report';
is scalar($slow->commands('hmget')), 2, 'for which nobody else was asked';
wait_until { $nginx->lines('short') == 40 } what => 'its line in the log';

for my $uri ('/report', '/first', '/page') {
    my $before = $slow->commands('hmget');
    my $lines  = $nginx->lines('short');
    my $http   = $nginx->begin($uri, 'X-Key' => "b$uri");
    wait_until { $slow->commands('hmget') == $before + 2 } what => "the reads of $uri";
    $http->abort;
    wait_until { $nginx->lines('short') == $lines + 1 } what => 'the log';
    is +($nginx->lines('short'))[-1], '499 ' . ($uri eq '/first' ? 'PASSED /report' : "- $uri"), "$uri, alone: 499";
}
my $read = $slow->commands('hmget');
my @h2load = (qw(h2load -n 50 -c 1 -m 50 -H), 'X-Key: gone', 'http://127.0.0.1:' . $nginx->port(1) . '/x');
my $client = RateLimit::Process->start(command => \@h2load, output => '/dev/null');
wait_until { $slow->commands('hmget') == $read + 1 } what => 'the read of 50 streams';
$client->kill;
wait_until { (grep { $_ eq '499 - /x' } $nginx->lines('short')) > 0 } what => 'the log';

$slow->release('gate');
my $http = $nginx->begin('/report', 'X-Key' => 'c');
wait_until { $slow->commands('hmget') == $read + 3 } what => 'other reads';
$slow->release('gate');
is $http->response->json->{rate}{used}, 0, 'answers that come late do no harm';
$http = $nginx->begin('/first', 'X-Key' => 'b/first');
wait_until { $slow->commands('hmget') == $read + 5 } what => 'the reads';
$slow->release('gate');
shows $http->response, 200, {resource => 'first', used => 2}, 'what was admitted before is charged';
$http = $nginx->begin('/page', 'X-Key' => 'd');
wait_until { $slow->commands('hmget') == $read + 7 } what => 'the reads of a page';
$slow->release('gate');
is scalar(() = $http->response->body =~ /"resources":/g), 2, 'a page that waits gets both of its reports';

done;

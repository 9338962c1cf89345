# conf-examples/console.conf: the API is limited, clients see their allowance, operators see all of it behind a password and give a client a fresh one,
# Prometheus reads metrics.

use RateLimit::Test;
use JSON::PP;
use MIME::Base64 qw(encode_base64);

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = start_example('console', shards => $shards, app => $app,
    replace => {'127.0.0.1:8081' => '127.0.0.1:%%PORT_1%%', map { ("/etc/nginx/$_.htpasswd" => "%%DIR%%/$_") } qw(console scrape)});
write_text($nginx->folder . '/console', "operator:{PLAIN}secret\n");
write_text($nginx->folder . '/scrape',  "prometheus:{PLAIN}public\n");
my @mona    = ('X-API-Key' => 'mona');
my $console = RateLimit::HTTP->new(port => $nginx->port(1));
my @login   = (Authorization => 'Basic ' . encode_base64('operator:secret', ''));
my @scrape  = (Authorization => 'Basic ' . encode_base64('prometheus:public', ''));

is_deeply statuses(map { $nginx->get('/search', @mona) } 1 .. 31), {200 => 30, 429 => 1}, 'a search limit';
is $nginx->get('/', @mona)->status, 200, '... beside the other one';
is $nginx->get('/search')->status, 200, 'another client';
wait_until { $shards->used('rl:core/3600:key:mona') == 31 } what => 'charges';
my $report = decode_json($nginx->get('/rate_limit', @mona)->body);
is_deeply {map { $_ => $report->{resources}{$_}{remaining} } keys %{$report->{resources}}}, {core => 4969, search => 0}, 'what a client is told';

is $console->get('/limits/')->status, 401, 'the console has a password';
my $page = $console->get('/limits/', @login);
is $page->status, 200, '... that opens it';
like $page->body, qr{<h1>Nothing is wrong\.</h1>}, '... and all is well';
like $page->body, qr{<a href="\./key">Look up a key</a>}, '... and operators may act';
is $console->get('/scrape/metrics')->status, 401, 'metrics have one, too';
like $console->get('/scrape/metrics', @scrape)->body, qr/^nginx_rate_limit_decisions_total\{limit="search",store="main",outcome="rejected"\} 1$/m,
    '... of their own';
unlike $console->get('/scrape/', @scrape)->body, qr/Look up a key/, '... and only show';
is $console->post('/scrape/key', 'key=x', @scrape, 'Content-Type' => 'application/x-www-form-urlencoded')->status, 405, '... and change nothing';
is $console->get('/limits/', @scrape)->status, 401, '... nor open what acts';

my $reset = $console->post('/limits/key', 'do=reset&key=key:mona&limit=search', @login, 'Content-Type' => 'application/x-www-form-urlencoded');
is decode_json($reset->body)->{windows}[0]{used}, 0, 'an operator gives a fresh allowance';
is $nginx->get('/search', @mona)->status, 200, '... which the client has';
$console->close;

done;

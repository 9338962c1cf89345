# A hundred handshakes that hang keep no other request of the worker waiting.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $count     = 100;
my $redis     = RateLimit::Redis->start;
my $mute      = RateLimit::Proxy->start(to => $redis->port)->stall('questions');
my $shards    = join '', map { "shard s$_ primary=@{[$mute->address]};" } 1 .. $count;
my $nginx     = RateLimit::Nginx->start(
    events => 'worker_connections 1024;',
    http   => "rate_limit_redis main { $shards check_timeout 60s; connect_timeout 60s; ssl on; ssl_trusted_certificate @{[$authority->file]}; }",
    server => 'location / { } location /limited { rate_limit_key $arg_k; rate_limit 100r/h store=main; }',
);
my @hung = map { $nginx->begin("/limited?k=$_") } 1 .. 4 * $count;
wait_until { $mute->connections >= 0.9 * $count } what => 'handshakes with most of a hundred servers';
is_deeply statuses(map { $nginx->get('/x') } 1 .. 200), {200 => 200}, 'others are answered';
is scalar(grep { !$_->quiet(0) } @hung), 0, 'while those wait';
$mute->stop;    # else the handshakes would hold the worker that leaves

done;

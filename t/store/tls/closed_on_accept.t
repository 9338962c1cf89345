# A server that takes connections and closes them at once, while requests ask for it, ends no worker and is used when it serves again.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $redis     = RateLimit::Redis->start(tls => $authority->issue('server', 'IP:127.0.0.1'));
my $proxy     = RateLimit::Proxy->start(to => $redis->tls_port);
my $nginx     = RateLimit::Nginx->with_limit('1000000r/h',
    redis_block('main', $proxy, timeouts('9s') . "fresh off; ssl on; ssl_trusted_certificate @{[$authority->file]};"),
    key => 'k', more => 'add_header X-Outcome $rate_limit_status always;');
my @workers = $nginx->workers;

for my $turn (1 .. 20) {
    wait_until { $nginx->get('/x')->header('X-Outcome') eq 'PASSED' } what => "turn $turn: a connection";
    $proxy->lead_to(1);    # where nobody listens
    $proxy->drop($turn % 2);
    is_deeply statuses($nginx->parallel(connections => 8, requests => 40, uri => '/x')), {200 => 40}, 'every request is answered';
    $proxy->lead_to($redis->tls_port);
}
is_deeply [$nginx->workers], \@workers, 'by one worker throughout';

done;

# A rate that is none is told with its text, at most once a second; how many requests had one meanwhile is told with the next line. A store
# that is away has lines of its own.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_redis gone { shard a primary=127.0.0.1:%%PORT_1%%; }',
    server => 'rate_limit_key $http_x_key; location /rate { rate_limit $http_x_rate; } location /gone { rate_limit 5r/h store=gone; }',
);
$nginx->get('/gone', 'X-Key' => 'k') for 1 .. 5;
$nginx->get('/rate', 'X-Key' => 'k', 'X-Rate' => $_) for '5r', 'x' x 100, qq{6"\\\x07\xff};
$nginx->wait_log(qr/could not be checked: invalid rate "5r": a rate has the form Nr\/PERIOD.*request: /);
$nginx->wait_log(qr/could not be checked: invalid rate "6\\x22\\x5c\\x07\\xff": a rate .* \(2 requests since the last such line\)/);
$nginx->get('/rate', 'X-Key' => 'k', 'X-Rate' => 'x' x 100);
$nginx->wait_log(qr/could not be checked: invalid rate "x{64}\.\.\.": a rate/);
is $nginx->count_log(qr/no node of the shard is up/) > 0, 1, 'and the store that is away';

done;

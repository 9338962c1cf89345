# rate_limit_log_level: the level of the line that a rejection leaves in the error log.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my @levels = qw(info notice warn error);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main') . 'rate_limit_key $http_x_key; rate_limit_store main;',
    server => join "\n", 'location /default { rate_limit 0r/h name=default; }
        location /two { rate_limit 0r/m name=one; rate_limit 0r/d name=two; }
        location /used/ { alias %%DIR%%/html/; rate_limit 2r/h name=used; }',
        map { "location /$_ { rate_limit 0r/h name=$_; rate_limit_log_level $_; }" } @levels,
);
my @client = ('X-Key' => 'secret-token');

$nginx->get("/$_", @client) for @levels, 'default', 'two';
$nginx->get('/used/x', @client) for 1 .. 3;
$nginx->stop;
is $nginx->count_log(qr/\[$_\] .*rate limit "$_" exceeded: 0 used of 0 in 3600 s, id [0-9a-f]{16}, client: 127.*GET/), 1, $_
    for @levels;
is $nginx->count_log(qr/\[warn\] .*rate limit "default" exceeded/), 1, 'by default: warn';
is $nginx->count_log(qr/rate limit "(?:one|two)" exceeded/), 2, 'a line for each limit that rejects';
is $nginx->count_log(qr/rate limit "used" exceeded: 2 used of 2/), 1, 'none for what passes';
is $nginx->count_log(qr/secret-token/), 0, 'keys are not logged';

done;

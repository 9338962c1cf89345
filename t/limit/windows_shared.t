# Limits that agree in store, name, period, kind of window and key share their window wherever they stand,
# each with its own limit; where one of these differs, windows do.

use RateLimit::Test;

my ($redis, $other) = map { RateLimit::Redis->start } 1, 2;
my %line = (
    same => '5r/h', parameters => '5r/h cost=1 exempt=off key=$http_x_key', minutes => '5r/60m',
    tight => '2r/h', name => '5r/h name=other', period => '5r/m', kind => '5r/h window=clock',
    key => '5r/h key=k2', store => '5r/h store=second',
);
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . redis_block('second', $other) . '
        rate_limit_store main; rate_limit_key $http_x_key;
        server { listen 127.0.0.1:%%PORT_1%%; rate_limit 5r/h; location / { } }',
    server => join "\n", 'location / { rate_limit 5r/h; }',
        map { "location /$_/ { alias %%DIR%%/html/; rate_limit $line{$_}; }" } sort keys %line,
);
my @client = ('X-Key' => 'k');

is limits($nginx->get($_, @client))->{used}, 1, "$_: a window of its own"
    for '/x', map { "/$_/x" } qw(name period kind key store);
my $used = 1;
is limits($nginx->get($_, @client))->{used}, ++$used, "$_: the same window"
    for '/same/x', '/parameters/x', '/minutes/x';
shows $nginx->get('/tight/x', @client), 429, {limit => 2, used => 4, remaining => 0},
    'the same window under a lower limit, which it has passed';
is limits(RateLimit::HTTP->new(port => $nginx->port(1))->get('/x', @client))->{used}, 5, 'from another server';
$nginx->stop;
is $redis->used('k'), 5, 'one window in Redis';
is $other->used('k'), 1, 'one in the other store';

done;

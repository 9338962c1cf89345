# The period of a variable rate is found again: all windows of a key under up to eight periods that were seen, by any worker, also after a reload and from
# another worker. With none seen there is no window, and no error. The JSON page tells the rates.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my %conf   = (
    workers => 2, reuseport => 1, http => redis_block('main', $redis) . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location /redis { rate_limit $arg_r name=redis store=main mode=charge_refund; }
        location /local { rate_limit $arg_r name=local; } location /none { rate_limit $arg_r name=none store=main; }',
);
my $nginx = RateLimit::Nginx->start(%conf);
my sub post ($body) {
    my $response = $nginx->act($body);
    return $response->status == 200 ? $response->json : "$body: " . $response->status . ' ' . $response->body;
}
my sub windows ($limit) { return {map { ($_->{period} => "$_->{used}/$_->{limit}") } @{post("key=a&limit=$limit")->{windows}}} }

my @periods = map { 60 * $_ } 1 .. 8;
my %expected;
for my $limit (qw(redis local)) {
    for my $period (@periods) {
        is $nginx->get("/$limit?r=${_}r/${period}s", 'X-Key' => 'a')->status, 200, "$limit, $_ in $period s" for 5 .. 7;
        $expected{$period} = '3/7';
    }
    is_deeply windows($limit), \%expected, 'all eight are found' for 1 .. 4;
}
is_deeply post('key=a&limit=none')->{windows}, [], 'of a limit without a rate yet none, and no error';
is_deeply post('key=b&limit=redis')->{windows}, [], 'nor of a key without windows';
is ref post('do=reset&key=a&limit=none'), 'HASH', 'a reset of that does nothing';

$nginx->get('/redis?r=7r/5m', 'X-Key' => 'one') for 1 .. 2;
is ref post('do=reset&key=one&limit=redis'), 'HASH', 'a reset of a key with a window of one period needs no period';
is_deeply [map { "$_->{period} $_->{used}" } @{post('key=one&limit=redis')->{windows}}], ['300 0'], '... and gives that back';
is ref post('do=reset&key=stranger&limit=redis'), 'HASH', '... nor one of a key without windows';
like post('do=reset&key=a&limit=redis'), qr/409.*Ambiguous/, 'where windows of several are open a reset wants the period';
is ref post('do=reset&key=a&limit=redis&period=2m'), 'HASH', '... as a time';
is ref post('do=reset&key=a&limit=redis&period=180'), 'HASH', '... or in seconds';
is_deeply windows('redis'), {%expected, 120 => '0/7', 180 => '0/7'}, '... and leaves the others';

$nginx->reload(%conf, wait_old => 1);
is_deeply [sort keys %{windows('redis')}], [sort @periods], 'after a reload';
my ($limit) = grep { $_->{name} eq 'redis' } @{$nginx->told->{limits}};
is_deeply [sort { $a <=> $b } map { $_->{period} } @{$limit->{rates}}], \@periods, 'the JSON page tells a rate of each period';
($limit) = grep { $_->{name} eq 'none' } @{$nginx->told->{limits}};
is_deeply $limit->{rates}, [], 'and none where none was seen';
$nginx->get('/redis?r=1r/9m', 'X-Key' => 'a');
ok exists windows('redis')->{540}, 'a ninth is found as well';

done;

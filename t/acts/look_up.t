# A look-up shows the windows of a key under one limit, or under all, as their primaries and this machine know them; it charges nothing, and makes nothing.
# Without a window there is nothing to show.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    workers => 2, reuseport => 1, http => $shards->block('main') . 'rate_limit_key $http_x_key; map $arg_s $s { default main; local local; }',
    server  => 'location /limits/ { rate_limit_console manage; }
        location /core { rate_limit 5r/h name=core store=main; rate_limit 100r/d name=core store=main; }
        location /more { rate_limit 7r/h name=core store=main; } location /clock { rate_limit 9r/h name=core store=main window=clock; }
        location /mine { rate_limit 3r/h name=mine mode=charge_refund; }
        location /lease { rate_limit 1000r/h name=lease store=main mode=lease; rate_limit_lease 20; }
        location /varies { rate_limit 4r/h name=varies store=$s; }',
);
my sub windows ($limit) {
    return {map { ("$_->{period} $_->{window}" => "$_->{used}/$_->{limit}, $_->{remaining} left, $_->{source}" . ($_->{open} ? '' : ', closed')) } @{$limit->{windows}}};
}
my sub get ($uri) { return $nginx->get($uri, 'X-Key' => 'a') }

is_deeply $nginx->does(key => 'a', limit => 'core')->{windows}, [], 'a key without a window';
ok !$shards->find('rl:core/3600:a'), '... for which none is made';
get('/core') for 1 .. 3;
get('/clock');
wait_until { join(' ', map { $shards->used("rl:core/$_:a") } 3600, 86400, '3600c') eq '3 3 1' } what => 'the charges';
for my $round (1 .. 3) {
    my $limit = $nginx->does(key => 'a', limit => 'core');
    is_deeply windows($limit), {'3600 first' => '3/7, 4 left, primary', '86400 first' => '3/100, 97 left, primary', '3600 clock' => '1/9, 8 left, primary'},
        'all windows of the limit, of the greatest of each period; nothing is charged';
    is_deeply [@$limit{qw(limit store key override)}], ['core', 'main', undef, undef], '... and no key';
    like $limit->{id}, qr/^[0-9a-f]{16}$/, '... but an id';
    my ($window) = grep { $_->{period} == 86400 } @{$limit->{windows}};
    like $window->{reset}, qr/^\d{10}(?:\.\d+)?$/, '... and the end';
    cmp_ok abs($window->{reset} - time - 86400), '<', 60, '... which is a day after the first request';
    is_deeply [@$window{qw(in_flight tokens waiting)}], [0, 0, 0], '... and nothing else of this machine';
}
get('/mine') for 1 .. 2;
is_deeply windows($nginx->does(key => 'a', limit => 'mine')), {'3600 first' => '2/3, 1 left, memory'}, 'a local limit';
get('/lease') for 1 .. 2;
my ($lease) = @{$nginx->does(key => 'a', limit => 'lease')->{windows}};
is $lease->{used} - $lease->{tokens}, 2, 'tokens at hand are told' or diag explain $lease;
cmp_ok $lease->{tokens}, '>', 0, '... beside what is used';

get('/varies?s=local');
is_deeply [map { "$_->{limit} $_->{store} " . @{$_->{windows}} } @{$nginx->does(key => 'a')}],
    ['core main 3', 'mine local 1', 'lease main 1', 'varies local 1', 'varies main 0'], 'all limits of all stores';
is_deeply [map { "$_->{limit} $_->{store}" } @{$nginx->does(key => 'a', store => 'main')}], ['core main', 'lease main', 'varies main'], '... or those of one store';
is_deeply windows($nginx->does(key => 'a', limit => 'varies', store => 'local')), {'3600 first' => '1/4, 3 left, memory'}, 'a limit of two stores, and one of them';

my @bad = (
    [{}, 400, 'BadParameter'], [{key => ''}, 400, 'BadParameter'], [{key => 'a', do => 'nothing'}, 400, 'BadParameter'], [{key => 'a%4'}, 400, 'BadParameter'],
    [{do => 'reset', key => 'a'}, 400, 'BadParameter'], [{do => 'reset', limit => 'core'}, 400, 'BadParameter'], [{do => 'add', key => 'a', limit => 'core'}, 400, 'BadParameter'],
    (map { [{do => 'add', key => 'a', limit => 'mine', cost => $_}, 400, 'BadParameter'] } 0, -1, '1x', '1.5', 1_000_000_001, '99999999999999999999'),
    [{do => 'reset', key => 'a', limit => 'core', period => 'x'}, 400, 'BadParameter'], [{do => 'reset', key => 'a', limit => 'core', period => 60}, 400, 'BadParameter'],
    [{key => 'a', limit => 'none'}, 404, 'UnknownLimit'], [{key => 'a', limit => 'core', store => 'local'}, 404, 'UnknownLimit'], [{key => 'a', store => '*'}, 404, 'UnknownLimit'],
    [{key => 'a', limit => 'varies'}, 409, 'Ambiguous'], [{do => 'reset', key => 'a', limit => 'varies'}, 409, 'Ambiguous'],
    [{do => 'reset', key => 'a', limit => 'core'}, 409, 'Ambiguous'], [{do => 'add', cost => 1, key => 'a', limit => 'core'}, 409, 'Ambiguous'],
);
for my $case (@bad) {
    my ($fields, $status, $code) = @$case;
    my $response = $nginx->act(%$fields);
    is $response->status, $status, join ' ', map { "$_=$fields->{$_}" } sort keys %$fields;
    is $response->json->{error}, $code, "... $code";
}
is $nginx->act('key=a&key=a')->status, 400, 'a field that is there twice';
is_deeply windows($nginx->does(key => 'a', limit => 'core'))->{'3600 first'}, '3/7, 4 left, primary', 'none of these did anything';

done;

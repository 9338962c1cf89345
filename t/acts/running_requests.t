# A look-up of a key under a limit of running requests shows what runs on this machine, and the slots that it and others hold, as the primary knows
# them; it changes nothing. There is nothing to reset or to give back, and the answer says so.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my @nginx = map {
    RateLimit::Nginx->start(
        up => $backend, http => redis_block('main', $redis) . 'map $arg_n $n { default 7; }',
        server => 'rate_limit_key $arg_k; location /limits/ { rate_limit_console manage; }
            location /fleet { rate_limit_concurrency 9 name=fleet store=main; proxy_pass http://%%UP%%; }
            location /varies { rate_limit_concurrency $n name=varies; proxy_pass http://%%UP%%; }
            location /here { rate_limit_concurrency 4 name=here; proxy_pass http://%%UP%%; }',
    )
} 1 .. 2;
my sub post ($fields, @headers) { return $nginx[0]->act($fields, @headers) }
my sub look ($fields) { return post($fields)->json }

is_deeply look('key=a&limit=fleet')->{slots}, {limit => 9, running => 0, remaining => 9, held => 0, held_elsewhere => 0, source => 'primary'}, 'nothing runs';
my @open = map { $_->[0]->reach($backend, $_->[1]) } (map { [$nginx[0], "/$_/slow?k=a"] } qw(fleet fleet here varies)), map { [$nginx[1], '/fleet/slow?k=a'] } 1 .. 3;
for my $round (1 .. 2) {
    my $fleet = look('key=a&limit=fleet');
    is_deeply $fleet->{slots}, {limit => 9, running => 2, remaining => 4, held => 2, held_elsewhere => 3, source => 'primary'}, 'what runs, and the slots';
    is_deeply [@$fleet{qw(windows store)}], [[], 'main'], '... and no window';
}
is_deeply look('key=a&limit=here')->{slots}, {limit => 4, running => 1, remaining => 3, held => undef, held_elsewhere => undef, source => 'memory'}, 'a local limit holds none';
is look('key=a&limit=varies')->{slots}{limit}, 7, 'a number that a variable said';
is_deeply [map { "$_->{limit} " . ($_->{slots} ? $_->{slots}{running} : '-') } @{look('key=b')}], ['fleet 0', 'varies 0', 'here 0'], 'another key';
my ($table) = post('key=a&limit=fleet', Accept => 'text/html')->body =~ m{<table id="found-1-slots">.*?<tbody>(.*?)</tbody>}s;
is join('|', map { s/<[^>]*>//gr } $table =~ m{<td[^>]*>(.*?)</td>}g), '9|2|4|2|3|the primary', 'and the page';

for my $act (qw(reset add)) {
    for my $limit (qw(fleet here)) {
        my $response = post("do=$act&key=a&limit=$limit&cost=1");
        is $response->status, 400, "$act of $limit";
        like $response->json->{description}, qr/counts requests that run.*"allow"/, '... cannot be done, and why';
    }
}
is look('key=a&limit=fleet')->{slots}{running}, 2, 'nothing was done';

$redis->kill;
my $away = post('key=a&limit=fleet');
is $away->status, 503, 'without the primary nobody knows';
is $away->json->{error}, 'StoreUnavailable';
$redis->restart;
$backend->release('gate');
is $_->response->status, 200 for @open;

done;

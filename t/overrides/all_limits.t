# `ban`, `allow` and `clear` without `limit` are of all limits of the key, in all stores. Where a store is away, it is done for the others, and the answer
# says for which limits it was not.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $gone  = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis, 'overrides shared;') . redis_block('gone', $gone, 'overrides shared; prefix gone:;') . 'rate_limit_zone 256k; rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; }
        location /a/ { alias %%DIR%%/html/; rate_limit 9r/h name=a; } location /b/ { alias %%DIR%%/html/; rate_limit 9r/h name=b store=main; }
        location /c/ { alias %%DIR%%/html/; rate_limit 9r/h name=c store=gone; } location /d/ { alias %%DIR%%/html/; rate_limit 9r/h name=d store=gone; }',
);
my sub statuses_of ($key) { return join ' ', map { $nginx->get("/$_/x", 'X-Key' => $key)->status } qw(a b c d) }
my sub kinds ($response) { return {map { ("$_->{limit}" => $_->{override} ? $_->{override}{kind} : 'none') } @{$response->json}} }

wait_until { statuses_of('first') eq '200 200 200 200' } what => 'all stores to answer';
my $all = $nginx->act(do => 'ban', key => 'mona');
is $all->status, 200, 'a ban of all' or diag $all->body;
is_deeply kinds($all), {map { ($_ => 'ban') } qw(a b c d)}, 'each limit has it';
is_deeply [sort map { "$_->{limit} $_->{on}" } @{$all->json}], ['a machine', 'b shared', 'c shared', 'd shared'], '... where its store says';
is statuses_of('mona'), '429 429 429 429', '... and holds';
is statuses_of('lisa'), '200 200 200 200', '... for this key alone';
is_deeply kinds($nginx->act(do => 'allow', key => 'mona', store => 'gone')), {c => 'allow', d => 'allow'}, 'all of one store';
is_deeply kinds($nginx->act(do => 'clear', key => 'mona')), {map { ($_ => 'none') } qw(a b c d)}, 'all end';
is statuses_of('mona'), '200 200 200 200', '... and the key passes';
is $nginx->count_log(qr/\[notice\].* override: ban for 3600 s, before: none, by the console/), 4, 'each is logged';

is $nginx->act(do => 'clear')->json->{error}, 'BadParameter', 'of nothing';
is $nginx->act(do => $_, 'limit' => 'a')->json->{error}, 'BadParameter', "$_ without a key" for qw(ban allow);
is $nginx->act(do => 'ban', key => 'x', store => 'none')->json->{error}, 'UnknownLimit', 'of no store';

# A store is away.
$gone->kill;
my $part;
wait_until { $part = $nginx->act(do => 'ban', key => 'max'); $part->status == 503 } what => 'the store to be found away';
my $error = $part->json;
is $error->{error}, 'InDoubt', 'it is not said to be done';
like $error->{description}, qr/^It was done for 2 of 4 limits; for the others not, or in doubt: "[cd]" of "gone", "[cd]" of "gone"\. .*on=machine/, '... but for which limits not';
like statuses_of('max'), qr/^429 429 /, '... and the others have it';
my $none = $nginx->act(do => 'ban', key => 'tom', store => 'gone')->json;
is $none->{error}, 'StoreUnavailable', 'of that store alone nothing was done';
like $none->{description}, qr/^It was done for no limit: /, '... which is said';

# Here alone.
my $here = $nginx->act(do => 'ban', key => 'max', on => 'machine');
is $here->status, 200, 'on this machine alone' or diag $here->body;
is_deeply [map { "$_->{on} $_->{override}{scope}" } @{$here->json}], [('machine machine') x 4], '... as the answer says';
is statuses_of('max'), '429 429 429 429', '... it holds';
is $nginx->count_log(qr/override: ban for 3600 s, before: (?:none|ban for \d+ s), on this machine alone, by the console/), 3, '... and the log says it';
is_deeply kinds($nginx->act(do => 'clear', key => 'max', on => 'machine')), {map { ($_ => 'none') } qw(a b c d)}, 'they end here';
for my $fields ({do => 'ban', on => 'all'}, {do => 'reset', on => 'machine', limit => 'a'}, {do => 'add', cost => 1, on => 'machine', limit => 'a'}) {
    is $nginx->act(%$fields, key => 'max')->json->{error}, 'BadParameter', "no such place: @{[%$fields]}";
}

# There is no room for all of them.
my $ids = 0;
++$ids while $ids < 1000 && $nginx->act(do => 'ban', key => "k$ids", limit => 'a')->status == 200;
cmp_ok $ids, '>', 4, 'until it is full';
$nginx->act(do => 'clear', key => "k$_", limit => 'a') for 0 .. 2;
my sub overrides () { return scalar @{$nginx->told->{overrides}} }
my $before = overrides();
is $nginx->act(do => 'ban', key => 'many', on => 'machine')->json->{error}, 'Full', 'no room for four';
is overrides(), $before, '... and none is set';
is $nginx->act(do => 'ban', key => 'many', limit => 'a')->status, 200, 'there is for one';
done;

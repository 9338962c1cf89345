# With `overrides shared` an override holds on all machines of the store within two seconds, in all workers; so does its end. It comes back after a stop.
# Keys are told as they reach Redis: digests under key_digest, of which each machine finds the same id as its requests have. A store with `machine` beside it keeps its
# own.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my @start = (
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis, 'overrides shared; ' . timeouts('9s'))
        . redis_block('digested', $redis, 'prefix d:; key_digest sha256; overrides shared; ' . timeouts('9s'))
        . redis_block('own', $redis, 'prefix o:; overrides machine;') . 'rate_limit_key $http_x_key; log_format id "$rate_limit_id";',
    server => 'access_log id id; location /limits/ { rate_limit_console manage keys=plain; }
        location / { rate_limit 1000r/h store=main; }
        location /other/ { alias %%DIR%%/html/; rate_limit 1000r/h name=other store=main; }
        location /digested/ { alias %%DIR%%/html/; rate_limit 1000r/h store=digested; }
        location /own/ { alias %%DIR%%/html/; rate_limit 1000r/h store=own; }',
);
my ($here, $there) = map { RateLimit::Nginx->start(@start) } 1 .. 2;
my sub settled ($nginx, $key, $uri = '/x') { return join ' ', sort { $a <=> $b } keys %{statuses(map { $nginx->get($uri, 'X-Key' => $key) } 1 .. 8)} }
my sub overrides ($nginx) { return @{$nginx->told->{overrides}} }

my $shown = $here->does(do => 'ban', limit => 'default', store => 'main', key => 'a%2520b', for => '1h');
is $shown->{override}{scope}, 'shared', 'a ban';
is settled($here, 'a b'), 429, '... holds here at once';
wait_until { settled($there, 'a b') eq '429' } timeout => 2, what => '... and there within two seconds';
is_deeply [map { [@$_{qw(limit store key kind by scope from until)}] } overrides($there)],
    [map { [qw(default main), 'a b', 'ban', '127.0.0.1', 'shared', @$_{qw(from until)}] } $shown->{override}], '... as it was set';
is settled($there, 'a'), 200, 'another key passes';

$here->does(do => 'ban', limit => 'default', store => 'digested', key => 'secret');
wait_until { settled($there, 'secret', '/digested/x') eq '429' } timeout => 2, what => 'a digested key';
unlike join(' ', %{$redis->hash('d:!overrides')}), qr/secret/, '... of which Redis has no text';
my ($digested) = grep { $_->{store} eq 'digested' } overrides($there);
is $digested->{key}, undef, '... nor the other machine';
$there->get('/digested/x', 'X-Key' => 'secret');
is +($there->lines('id'))[-1], $digested->{id}, '... but the id';

$here->does(do => 'ban', limit => 'default', store => 'own', key => 'o');
is_deeply $redis->hash('o:!overrides'), {}, 'a store of `machine` tells nobody';

$there->does(do => 'enforce', limit => 'other', store => 'main', percent => 0);
$there->does(do => 'clear', limit => 'default', store => 'main', key => 'a%2520b');
wait_until { settled($here, 'a b') eq '200' } timeout => 2, what => 'the end of the ban';
is_deeply [sort map { "$_->{kind} $_->{scope}" } overrides($here)], ['ban machine', 'ban shared', 'enforce shared'], 'the others stay';

$here->restart;
wait_until { settled($here, 'secret', '/digested/x') eq '429' } timeout => 2, what => 'what is shared, after a stop';
is settled($here, 'o', '/own/x'), 200, '... but not what was not';

$here->reload(wait_old => 1);
is settled($here, 'secret', '/digested/x'), 429, 'a reload changes nothing';

$redis->kill;
$_->expect_log(qr/is down|could not be/) for $here, $there;
is settled($here, 'secret', '/digested/x'), 429, 'while Redis is away what was known holds';
my $refused = $here->act('do=off&limit=default&store=main');
is $refused->status, 503, '... and nothing can be changed';
is $refused->json->{error}, 'StoreUnavailable', '... as the answer says';
is_deeply [grep { $_->{kind} eq 'off' } overrides($here)], [], '... nor was it';
done;

# `id=` names a key that this machine knows: of an override, of the keys that are rejected most, or of a look-up. Where the text of the key is kept
# (keys=plain) it stands for the key, else for the key under its own limit alone.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my %common = (
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis, 'overrides shared;') . 'rate_limit_key $http_x_key;',
);
my sub server ($keys) {
    return "location /limits/ { rate_limit_console manage keys=$keys; } location /main/ { alias %%DIR%%/html/; rate_limit 2r/h name=shared store=main; }
        location /other/ { alias %%DIR%%/html/; rate_limit 9r/h name=other; } location / { rate_limit 2r/h name=core; }";
}
my $nginx;
my sub fails ($code, $pattern, %fields) {
    my $response = $nginx->act(%fields);
    is $response->status, 400, "refused: @{[%fields]}";
    my $error = $response->json;
    is $error->{error}, $code, '... as the contract says';
    return like $error->{description}, $pattern, '... and why';
}
my sub get ($key, $uri = '/x') { return $nginx->get($uri, 'X-Key' => $key) }
my sub top () { return {map { ($_->{limit} => $_->{id}) } @{$nginx->told->{top}{keys}}} }

# Texts are not kept.
$nginx = RateLimit::Nginx->start(%common, server => server('id'));
fails('BadParameter', qr/does not know the id/, do => 'ban', id => '0123456789abcdef', limit => 'core');
fails('BadParameter', qr/16 hex digits/, do => 'ban', id => $_, limit => 'core') for qw(0 0123456789abcde 0123456789abcdef0 0123456789ABCDEF 0000000000000000 %ff);
get('mona') for 1 .. 4;
get('mona', '/main/x') for 1 .. 4;
my $id = top()->{core};
like $id, qr/^[0-9a-f]{16}$/, 'the key is among those that are rejected most';
my $seen = $nginx->does(id => $id);
is_deeply [map { @{$_}{qw(limit store id key windows)} } @$seen], ['core', 'local', $id, undef, undef], 'a look-up shows its own limit, and does not know the windows';
my $banned = $nginx->does(do => 'ban', id => $id, limit => 'core', for => '10m');
is_deeply [@{$banned->{override}}{qw(kind scope)}], [qw(ban machine)], 'it is banned';
is_deeply [@{$banned}{qw(on before)}], ['machine', undef], '... here, where there was no override';
is get('mona')->header('X-RateLimit-Limit'), 0, '... the same key';
my $cleared = $nginx->does(do => 'clear', id => $id, limit => 'core');
is $cleared->{override}, undef, 'the ban ends';
is $cleared->{before}{kind}, 'ban', '... which was there before';
is get('mona')->header('X-RateLimit-Limit'), 2, '... for the key';
fails('BadParameter', qr/of another limit or store/, do => 'ban', id => $id, limit => 'other');
fails('BadParameter', qr/of another limit or store/, do => 'ban', id => $id, limit => 'core', store => 'main');
fails('BadParameter', qr/of another limit or store/, id => $id, limit => 'none');
fails('BadParameter', qr/not by both/, do => 'ban', id => $id, key => 'mona', limit => 'core');
fails('BadParameter', qr/name its limit/, do => 'ban', id => $id);
fails('BadParameter', qr/does not keep the key/, do => 'reset', id => $id, limit => 'core');
fails('BadParameter', qr/of a whole limit/, do => 'off', id => $id, limit => 'core');
fails('BadParameter', qr/"key" is needed/, do => 'ban', limit => 'core');

# Machines share the overrides of a store by keys.
my $shared = top()->{shared};
fails('BadParameter', qr/on=machine/, do => 'ban', id => $shared, limit => 'shared');
is $nginx->does(do => 'ban', id => $shared, limit => 'shared', on => 'machine')->{on}, 'machine', 'this machine alone needs no key';
is get('mona', '/main/x')->header('X-RateLimit-Limit'), 0, '... and bans it';
$nginx->does(do => 'ban', key => 'mona', limit => 'shared');
is $nginx->does(do => 'clear', id => $shared, limit => 'shared')->{on}, 'shared', 'what they share already can be ended by the id';
is scalar(grep { m{^shared/} } keys %{$redis->hash('rl:!overrides')}), 0, '... in Redis, too';

# The id that was looked up is known in all workers afterwards.
my ($looked) = grep { $_->{limit} eq 'other' } @{$nginx->does(key => 'lisa')};
$nginx->does(do => 'ban', id => $looked->{id}, limit => 'other') for 1 .. 4;
is get('lisa', '/other/x')->status, 429, 'an id of a look-up';
$nginx->does(do => 'clear', id => $looked->{id}, limit => 'other');
$nginx->stop;

# Texts are kept.
$nginx = RateLimit::Nginx->start(%common, server => server('plain'));
get('mona') for 1 .. 4;
$id = top()->{core};
is_deeply [sort map { $_->{limit} } @{$nginx->does(id => $id)}], [qw(core other shared)], 'a look-up shows all limits of the key';
my $reset = $nginx->does(do => 'reset', id => $id, limit => 'core');
is_deeply [$reset->{key}, $reset->{windows}[0]{used}], ['mona', 0], 'its windows can be reset';
is $nginx->does(do => 'ban', id => $id, limit => 'shared')->{on}, 'shared', 'machines can be told of it';
is get('mona', '/main/x')->status, 429, '... which holds';
done;

# Every nginx sends a key to the same shard, whatever the order of its lines: the one that $rate_limit_shard
# names and the published vectors ask for. A shard that is added takes only what becomes its own.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(3);
my %redis  = map { $_ => $shards->primary(ord($_) - ord 'a') } $shards->names;

sub block ($name, $prefix, @lines) {
    my @shards = map { "shard $_->[0] primary=@{[$redis{$_->[0]}->address]} $_->[1];" } @lines;
    return "rate_limit_redis $name { prefix $prefix; @shards }\n";
}
my @equal    = map { [$_, ''] } qw(a b c);
my @weighted = (['a', ''], ['b', 'weight=2'], ['c', 'weight=4']);
my @blocks   = (['equal', 'e:', @equal], ['weighted', 'w:', @weighted], ['two', 't:', @equal[0, 1]]);

sub nginx ($order) {
    my $digest = block('digested', 'd:', $order->(@equal)) =~ s/\}$/key_digest sha256; }/r;
    my $limit     = 'rate_limit 1000r/h';
    my $locations = join '', map {
        "location /$_ { $limit store=$_; }\nlocation /addr/$_ { $limit store=$_ key=\$rate_limit_binary_addr; }\n"
    } qw(equal weighted two digested);
    my @stores = map { my ($name, $prefix, @lines) = @$_; block($name, $prefix, $order->(@lines)) } @blocks;
    return RateLimit::Nginx->start(
        http   => join('', $digest, @stores),
        server => "rate_limit_key \$http_x_key; add_header X-Shard \$rate_limit_shard always;\n$locations",
    );
}
my @nginx = (nginx(sub (@lines) { @lines }), nginx(sub (@lines) { reverse @lines }));

sub shards_of ($nginx, $uri, @keys) {
    my @responses = $nginx->parallel(connections => 8, requests => [map { [$uri, 'X-Key' => $_] } @keys]);
    return map { $_->header('X-Shard') // 'none' } @responses;
}

my @published = (
    [a => 'c', 'c'], [alice => 'a', 'c'], [bob => 'a', 'c'], ['user:42' => 'b', 'b'],
        ['192.0.2.1' => 'c', 'c'],
    ['203.0.113.77' => 'c', 'c'], ['2001:db8::/64' => 'c', 'c'], ['k' x 128 => 'a', 'a'],
);
for my $i (0, 1) {
    my $nginx = $nginx[$i];
    my @keys  = map { $_->[0] } @published;
    is_deeply [shards_of($nginx, '/equal',    @keys)], [map { $_->[1] } @published],
        "vectors, equal weights, nginx $i";
    is_deeply [shards_of($nginx, '/weighted', @keys)], [map { $_->[2] } @published],
        "vectors, weights 1 2 4, nginx $i";
    # 127.0.0.1 in binary, and the hex digest of "abc": both are vectors.
    is $nginx->get('/addr/equal')->header('X-Shard'),    'b', "the binary vector, nginx $i";
    is $nginx->get('/addr/weighted')->header('X-Shard'), 'b', "the binary vector, weighted, nginx $i";
    is $nginx->get('/digested', 'X-Key' => 'abc')->header('X-Shard'), 'b', "the digest chooses, nginx $i";
}

my @keys   = map { "client-$_" } 1 .. 300;
my @first  = shards_of($nginx[0], '/weighted', @keys);
is_deeply [shards_of($nginx[1], '/weighted', @keys)], \@first, 'both nginx choose the same shard for each key';
$_->stop for @nginx;

my %stored = map { my $name = $_; map { $_ => $name } $redis{$name}->keys } keys %redis;
my @wrong  = grep { ($stored{"w:default/3600:$keys[$_]"} // '') ne $first[$_] } 0 .. $#keys;
is_deeply [map { $keys[$_] } @wrong], [], 'each key lies where the variable says, and nowhere else';
my @used = map { $redis{$first[$_]}->hash("w:default/3600:$keys[$_]")->{used} } 0 .. $#keys;
is_deeply [grep { $_ != 2 } @used], [], 'and counts what came by way of both';

my $nginx  = nginx(sub (@lines) { @lines });
my @before = shards_of($nginx, '/two',   @keys);
my @after  = shards_of($nginx, '/equal', @keys);
my @moved  = grep { $before[$_] ne $after[$_] } 0 .. $#keys;
is_deeply [grep { $after[$_] ne 'c' } @moved], [], 'only the new shard gains keys';
cmp_ok scalar @moved, '>', 60,  'about a third of them';
cmp_ok scalar @moved, '<', 140, 'and no more';

done;

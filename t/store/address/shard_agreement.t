# A key goes to the same shard whatever the order of the lines: the one that $rate_limit_shard names and the published vectors ask for.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(3);
my %redis  = map { $_ => $shards->primary(ord($_) - ord 'a') } $shards->names;

sub block ($name, $more, @lines) {
    my @shards = map { "shard $_->[0] primary=@{[$redis{$_->[0]}->address]} $_->[1];" } @lines;
    return "rate_limit_redis $name { $more @shards }\n";
}
my @equal    = map { [$_, ''] } qw(a b c);
my @weighted = (['a', ''], ['b', 'weight=2'], ['c', 'weight=4']);
my @stores   = qw(equal weighted equal_reversed weighted_reversed digested);
my $nginx    = RateLimit::Nginx->start(
    http => block('equal', 'prefix e:;', @equal) . block('equal_reversed', 'prefix e:;', reverse @equal)
        . block('weighted', 'prefix w:;', @weighted) . block('weighted_reversed', 'prefix w:;', reverse @weighted)
        . block('digested', 'prefix d:; key_digest sha256;', @equal),
    server => 'rate_limit_key $http_x_key; add_header X-Shard $rate_limit_shard always;' . join '', map {
        "location /$_ { rate_limit 1000r/h store=$_; } location /addr/$_ { rate_limit 1000r/h store=$_ key=\$rate_limit_binary_addr; }\n"
    } @stores,
);

sub shards_of ($uri, @keys) {
    my @responses = $nginx->parallel(connections => 8, requests => [map { [$uri, 'X-Key' => $_] } @keys]);
    return map { $_->header('X-Shard') // 'none' } @responses;
}

my @published = (
    [a => 'c', 'c'], [alice => 'a', 'c'], [bob => 'a', 'c'], ['user:42' => 'b', 'b'],
        ['192.0.2.1' => 'c', 'c'],
    ['203.0.113.77' => 'c', 'c'], ['2001:db8::/64' => 'c', 'c'], ['k' x 128 => 'a', 'a'],
);
for my $order ('', '_reversed') {
    my @keys = map { $_->[0] } @published;
    is_deeply [shards_of("/equal$order",    @keys)], [map { $_->[1] } @published], "vectors, equal weights$order";
    is_deeply [shards_of("/weighted$order", @keys)], [map { $_->[2] } @published], "vectors, weights 1 2 4$order";
    # 127.0.0.1 in binary is a vector.
    is $nginx->get("/addr/$_$order")->header('X-Shard'), 'b', "the binary vector, $_$order" for qw(equal weighted);
}
is $nginx->get('/digested', 'X-Key' => 'abc')->header('X-Shard'), 'b', 'the digest chooses: that of "abc" in hex is a vector';

my @keys  = map { "client-$_" } 1 .. 300;
my @first = shards_of('/weighted', @keys);
is_deeply [shards_of('/weighted_reversed', @keys)], \@first, 'the same shard for each key';
$nginx->stop;

my %stored = map { my $name = $_; map { $_ => $name } $redis{$name}->keys } keys %redis;
my @wrong  = grep { ($stored{"w:default/3600:$keys[$_]"} // '') ne $first[$_] } 0 .. $#keys;
is_deeply [map { $keys[$_] } @wrong], [], 'each key lies where the variable says, and nowhere else';
my @used = map { $redis{$first[$_]}->hash("w:default/3600:$keys[$_]")->{used} } 0 .. $#keys;
is_deeply [grep { $_ != 2 } @used], [], 'and counts what came by way of both';

done;

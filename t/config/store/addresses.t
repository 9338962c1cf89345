# Addresses of rate_limit_redis: a URL is refused with what to write, without repeating its password; a replica that is its
# own primary is refused; shards and stores that share a primary are warned about.

use RateLimit::Test;

my $server = 'server { listen unix:%%DIR%%/socket; rate_limit_key $arg_k; rate_limit 1r/s store=main; rate_limit 1r/m store=$arg_s; }';
my $tls    = '; and "ssl on" for TLS';
my $user   = ', and the user and password in "username" and "password"';
my %urls   = (
    'redis://10.0.0.1:6379'                  => '10.0.0.1:6379',
    'redis://cache'                          => 'cache',
    'redis://[::1]:7000/'                    => '[::1]:7000',
    'redis://10.0.0.1:6379/2'                => '10.0.0.1:6379, and the database in "database": 2',
    'redis://u:p4ss@10.0.0.1:6379'           => "10.0.0.1:6379$user",
    'redis://:p@4ss@10.0.0.1/0?a=b'          => "10.0.0.1$user, and the database in \"database\": 0",
    'rediss://10.0.0.1:6379'                 => "10.0.0.1:6379$tls",
    'rediss://u:p4ss@10.0.0.1:6379/3'        => "10.0.0.1:6379$user, and the database in \"database\": 3$tls",
    'valkey://10.0.0.1'                      => '10.0.0.1',
    'tcp://10.0.0.1:6379'                    => '10.0.0.1:6379',
    'redis://'                               => 'HOST:PORT',
    'u:p4ss@10.0.0.1:6379'                   => "10.0.0.1:6379$user",
    '127.0.0.1:1/0'                          => '127.0.0.1:1, and the database in "database": 0',
);
for my $url (sort keys %urls) {
    for my $written ('primary=', 'primary=127.0.0.1:9 replica=') {
        my ($name) = $written =~ /(\w+=)$/;
        my $message = qr/^(?!.*4ss).*the address of "$name" of shard "a" is no URL: write $name\Q$urls{$url}\E in/;
        refuses("rate_limit_redis main { shard a $written$url; } $server", 'shard a', $message, "$written$url");
    }
}

my $own = qr/"replica=(.*)" of shard "a" is its primary, "primary=.*": give the address of another server, or remove it/;
my @same = (
    ['127.0.0.1:1', '127.0.0.1:1'], ['127.0.0.1', '127.0.0.1:6379'], ['127.1:1', '127.0.0.1:1'], ['127.0.0.1:1', '127.1:1'],
    ['[::1]:1', '[0:0::1]:1'], ['unix:/run/redis', 'unix:/run/redis'], ['127.0.0.1:1', '127.0.0.1:2 replica=127.0.0.1:1'],
);
for my $pair (@same) {
    my ($primary, $replica) = @$pair;
    refuses("resolver 127.0.0.1; rate_limit_redis main { shard a $_; } $server", 'shard a', $own, $_)
        for "primary=$primary replica=$replica", "replica=$replica primary=$primary";
}
for my $pair (['127.0.0.1:1', '127.0.0.1:2'], ['127.0.0.1:1', '127.0.0.2:1'], ['127.0.0.1:1', '[::1]:1'],
    ['unix:/run/redis', 'unix:/run/redis2'], ['unix:/run/redis', '127.0.0.1:1']) {
    my $text = "primary=$pair->[0] replica=$pair->[1]";
    accepts_quietly("rate_limit_redis main { shard a $text; } $server", $text);
}

my $shards = 'shard a primary=127.0.0.1:1; shard b primary=127.0.0.1:2;';
warns("rate_limit_redis main { $shards shard c primary=127.0.0.1:1 replica=127.0.0.1:3; } $server", 'shard c',
    qr/shard "c" has the primary of shard "a", "127.0.0.1:1": both are one server; give each a server of its own/, 'two shards, one primary');
accepts_quietly("rate_limit_redis main { $shards } $server", 'two shards');

sub stores ($first, $second) {
    return "rate_limit_redis main { shard x primary=127.0.0.1:9; $first } rate_limit_redis other { shard y primary=127.0.0.1:8; $second } $server";
}
my $keys = qr/"rate_limit_redis other" in \S+ has a primary, the database and the prefix of "rate_limit_redis main" in \S+: .* another "prefix"/;
for my $both ('', 'database 3;', 'prefix "";', 'prefix a; database 3;') {
    warns(stores("shard a primary=127.0.0.1:1; $both", "shard b primary=127.0.0.1:1; $both"), 'rate_limit_redis other', $keys,
        "two stores, one primary, $both");
}
warns(stores('shard a primary=127.0.0.1:1;', 'shard b primary=127.0.0.1:1; prefix rl:; database 0;'), 'rate_limit_redis other', $keys,
    'the defaults, written out');
for my $pair (['', 'prefix a;'], ['database 1;', ''], ['prefix a;', 'prefix b;']) {
    accepts_quietly(stores("shard a primary=127.0.0.1:1; $pair->[0]", "shard b primary=127.0.0.1:1; $pair->[1]"), "@$pair");
}
accepts_quietly(stores('shard a primary=127.0.0.1:1;', 'shard b primary=127.0.0.1:2 replica=127.0.0.1:1;'),
    'a replica of both');

done;

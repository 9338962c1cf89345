# The rate_limit_redis block: what it takes, and what it refuses with which remedy.

use RateLimit::Test;

my $folder = test_folder();
write_text("$folder/secret", "s3cret\r\n");
write_text("$folder/empty",  "\n");
my %marked = (utf8 => "\xef\xbb\xbfs3cret\n", utf16 => "\xff\xfes\0");
write_text("$folder/$_", $marked{$_}) for keys %marked;
write_text("$folder/inside", "shard b primary=127.0.0.1:2;\n");
my $shard = 'shard a primary=127.0.0.1:1';
my $server = 'server { listen unix:%%DIR%%/socket; rate_limit_key a; rate_limit 1r/s store=main; }';

my @good = (
    'shard a primary=127.0.0.1:1 replica=127.0.0.1:2 replica=127.0.0.1:3 weight=2; shard b primary=127.0.0.1:4',
    'shard a.b-C_9 replica=127.0.0.1:2 weight=1000000 primary=127.0.0.1',
    'shard a primary=[::1]:1 replica=[::1] replica=unix:/run/redis.sock',
    "$shard; check_timeout 1ms; charge_timeout 2s; connect_timeout 10s",
    (map { "$shard; fresh $_" } qw(auto off 1ms 500ms 2s)),
    "$shard; prefix a:b",
    "$shard; prefix \"\"",
    "$shard; overrides machine",
    "$shard; overrides shared",
    "$shard; key_digest off",
    "$shard; key_digest sha256",
    "$shard; key_digest hmac:$folder/secret",
    "$shard; password file:$folder/secret; username u; database 15",
    "$shard; password word; database 0",
    "$shard; include $folder/inside",
    'shard ' . 'a' x 64 . ' primary=127.0.0.1:1',
);
for my $text (@good) {
    accepts_quietly("rate_limit_redis main { $text; } $server", $text);
}

my $address = qr/write HOST:PORT, .*\[IPV6\]:PORT or unix:\/PATH/;
my @bad = (
    (map { ["shard $_ primary=127.0.0.1:1", qr/invalid shard name ".*": a name is 1 to 64 of A-Z a-z 0-9 _ \. -/] }
        '""', 'a' x 65, 'a/b', '"a b"', "\xc3\xa9"),
    (map { [$_, qr/"shard" needs a name and a primary: shard NAME primary=HOST:PORT; or, with "sentinel", master=MASTER in /] } 'shard a', 'shard'),
    (map { [$_, qr/shard "a" has no primary: add primary=HOST:PORT; or, with "sentinel", master=MASTER in /] }
        'shard a replica=127.0.0.1:2', 'shard a weight=2'),
    (map { ["$shard weight=$_", qr/invalid "weight=.*" of shard "a": a weight is 1 to 1000000/] } '0', '1000001', '-1', 'x', '', '1.5'),
    (map { ["$shard $_", qr/unknown or repeated parameter ".*" of shard "a": it takes one primary=, any number of replica= and weight=/] }
        'primary=127.0.0.1:2', 'weight=1 weight=2', '127.0.0.1:2', 'slave=127.0.0.1:2', 'Replica=127.0.0.1:2', '""'),
    (map { my $bad = $_; map { ["shard a $_$bad", qr/ in the address ".*" of shard "a": $address/] } 'primary=', 'primary=127.0.0.1:9 replica=' }
        '', ':6379', '127.0.0.1:0', '127.0.0.1:65536', '127.0.0.1:x', '[::1', '[::x]:1', 'unix:',
        'unix:/' . 'a' x 200),
    ['shard a primary=unix:redis.sock', qr/relative path in the address "unix:redis.sock" of shard "a": write unix:\/PATH/],

    (map { my $d = $_; map { ["$d $_", qr/invalid time ".*" in "$d": write it as 100ms or 5s, at least 1ms/] } '0', '0ms', '-1', '1x', '1.5s', '""' }
        'check_timeout', 'charge_timeout', 'connect_timeout'),
    (map { ["fresh $_", qr/invalid "fresh .*": it is "auto", "off" or a time such as 500ms/] } 'on', '0', '-1s', '1.5s', '""'),
    ['prefix ' . 'a' x 65,  qr/"prefix a+" is too long: it takes up to 64 bytes/],
    (map { ["overrides $_", qr/invalid "overrides .*": it is "machine" or "shared"/] } 'on', 'off', '""', 'Shared'),
    (map { ["read_from $_", qr/invalid "read_from .*": it is "nearest" or "spread"/] } 'on', 'near', '""', 'Nearest'),
    (map { ["key_digest $_", qr/invalid "key_digest .*": it is "off", "sha256" or "hmac:FILE"/] } 'on', 'md5', 'sha256:x', '""', 'hmac'),
    (map { ["database $_", qr/invalid "database .*": it is a number from 0 to 1000000/] } '-1', 'x', '1000001', '""'),
    (map { [qq($_ ""), qr/"$_" is empty: give it a value or remove the line/] } 'username', 'password'),
    (map { my $d = $_; map { my ($file, $why) = @$_; ["$d$file", qr/"\w+": the file ".*" $why: give the path of a file that has the secret and nothing else/] }
        ["$folder/missing", 'cannot be read'], ["$folder/empty", 'is empty'], [$folder, 'is no regular file'], ['relative/missing', 'cannot be read'],
        map { ["$folder/$_", 'begins with a byte order mark'] } keys %marked } 'password file:', 'key_digest hmac:'),
    (map { [$_, qr/"\w+" in "rate_limit_redis" takes one value: "\w+ VALUE;"/] }
        'prefix', 'prefix a b', 'username', 'password a b', 'database', 'check_timeout', 'fresh', 'key_digest', 'check_timeout 1s 2s'),
);
for my $case (@bad) {
    my ($text, $pattern) = @$case;
    refuses("rate_limit_redis main { $text; } $server", $text, $pattern, $text);
}

# nginx's own line comes first.
for my $unknown ('timeout 5s', 'rate_limit 1r/s') {
    my ($code, $output) = RateLimit::Nginx->test_config("rate_limit_redis main { $unknown; } $server");
    my ($word) = split / /, $unknown;
    is $code, 1, "refused: $unknown";
    is scalar(() = $output =~ /^nginx: .*unknown directive "$word" in "rate_limit_redis": it takes shard, cluster, sentinel, .* and ssl_verify in /mg),
        1, '... with what there is';
}

refuses("rate_limit_redis main { $shard; shard a primary=127.0.0.1:2; }", 'primary=127.0.0.1:2',
    qr/duplicate shard "a": every shard needs a name of its own/, 'two shards of one name');
my %two = (
    check_timeout => ['1s', '2s'], charge_timeout => ['1s', '2s'], connect_timeout => ['1s', '2s'], prefix => ['""', 'a'],
    key_digest => ['off', 'sha256'], username => ['a', 'b'], password => ['a', "file:$folder/secret"], database => ['0', '1'],
);
for my $directive (sort keys %two) {
    my ($first, $second) = @{$two{$directive}};
    refuses("rate_limit_redis main { $shard; $directive $first; $directive $second; }", "$directive $second",
        qr/duplicate "$directive" in "rate_limit_redis": keep one/, "two $directive");
}

refuses('rate_limit_redis main { }', '}', qr/"rate_limit_redis main" has no shard: add "shard NAME primary=HOST:PORT"/, 'an empty block');
refuses('rate_limit_redis main { prefix a; }', '}', qr/"rate_limit_redis main" has no shard: add/, 'a block without a shard');
refuses("rate_limit_redis main { $shard; username a; }", '}', qr/"rate_limit_redis main" has a "username" but no "password": add one/,
    'username without password');
for my $name ('local', '""', 'a/b', 'a' x 65, '$arg_a') {
    refuses("rate_limit_redis $name { $shard; }", "rate_limit_redis $name",
        qr/invalid name ".*" in "rate_limit_redis": a name is 1 to 64 of A-Z a-z 0-9 _ \. - and not "local"/, "named $name");
}
refuses("rate_limit_redis main { $shard; } rate_limit_redis main { shard b primary=127.0.0.1:2; }", 'rate_limit_redis main',
    qr/duplicate "rate_limit_redis main": every store needs a name of its own/, 'two blocks of one name');
refuses("rate_limit_redis { $shard; }", 'rate_limit_redis', qr/invalid number of arguments in "rate_limit_redis" directive/, 'no name');

done;

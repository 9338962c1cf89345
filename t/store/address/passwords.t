# Passwords, users, databases and their refusal: a clear line in the log, and rate_limit_on_error decides. A password in a file that was
# changed together with the server's: workers log in by the new one without a reload.

use RateLimit::Test;

my $guarded = RateLimit::Redis->start(password => 'open sesame');
my $users   = RateLimit::Redis->start(acl => ['user limiter on >tell ~rl:* +@all']);
my %case    = (
    plain  => [$guarded, 'password "open sesame";'],
    file   => [$guarded, 'password file:html/secret;'],
    both   => [$guarded, 'username default; password "open sesame";'],
    acl    => [$users,   'username limiter; password tell;'],
    wrong  => [$guarded, 'password sesame;', qr/WRONGPASS/],
    absent => [$guarded, '', qr/NOAUTH/],
    nobody => [$users, 'username nobody; password tell;', qr/WRONGPASS/],
    far    => [$guarded, 'password "open sesame"; database 99;', qr/DB index is out of range/],
);
my $begun = time;
my $nginx = RateLimit::Nginx->start(
    files  => {secret => "open sesame\r\n"},
    http   => join('', map { redis_block($_, $case{$_}[0], "check_timeout 2s; connect_timeout 2s; $case{$_}[1]") } sort keys %case),
    server => 'rate_limit_key $arg_k; add_header X-Outcome $rate_limit_status always;' . join '', map {
        my $store = $_;
        map { "location /$store-$_ { rate_limit 100r/h name=$store store=$store; rate_limit_on_error $_; }" } qw(allow deny)
    } sort keys %case,
);
for my $name (grep { !$case{$_}[2] } sort keys %case) {
    is $nginx->get("/$name-allow?k=k")->header('X-Outcome'), 'PASSED', "$case{$name}[1] lets the check through";
    wait_until { $case{$name}[0]->used('k', "$name/3600") == 1 } what => 'the charge';
    is $nginx->count_log(qr/of "$name"/), 0, 'without a word';
}
for my $name (grep { $case{$_}[2] } sort keys %case) {
    my ($redis, $credentials, $word) = @{$case{$name}};
    for (['allow', '200 ERROR_ALLOWED'], ['deny', '503 ERROR_DENIED']) {
        my ($on_error, $expected) = @$_;
        is_deeply outcomes(map { $nginx->get("/$name-$on_error?k=k") } 1 .. 20), {$expected => 20}, "refused ($credentials): $on_error";
    }
    $nginx->wait_log(qr/\[error\].*primary \Q@{[$redis->address]}\E of shard "a" of "$name".*$word/);
    my $lines = $nginx->count_log(qr/primary .* of shard "a" of "$name"/);
    cmp_ok $lines, '<=', time - $begun + 2, "one line a second ($lines)";
    is_deeply [grep { /\Q$name\E/ } $redis->keys], [], 'nothing was charged';
}

write_text($nginx->folder . '/html/secret', "swordfish\n");
$guarded->cmd(qw(CONFIG SET requirepass swordfish));
$guarded->drop_clients;
wait_until { $nginx->get('/file-allow?k=new')->header('X-Outcome') eq 'PASSED' } what => 'a worker that has read the file again';
$nginx->wait_log(qr/\[notice\].* a server of "file" refused the password; "\S+secret" has another one by now/);
$nginx->stop;
is $nginx->count_log(qr/sesame|swordfish/), 0, 'no line has a password';
is_deeply [map { $case{$_}[0]->used('k', "$_/3600") } qw(plain file both acl)], [1, 1, 1, 1], 'each is charged once';

done;

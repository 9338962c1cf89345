# Passwords, users, databases and their refusal: a clear line in the log, and rate_limit_on_error decides.

use RateLimit::Test;

my $guarded = RateLimit::Redis->start(password => 'open sesame');
my $users   = RateLimit::Redis->start(acl => ['user limiter on >tell ~rl:* +@all']);

sub start ($name, $redis, $credentials, $on_error = 'allow') {
    return RateLimit::Nginx->with_limit("100r/h name=$name",
        redis_block('main', $redis, "check_timeout 2s; connect_timeout 2s; $credentials"), key => 'k',
        files => {secret => "open sesame\r\n"},
        more  => "rate_limit_on_error $on_error; add_header X-Outcome \$rate_limit_status always;");
}

my @good = (
    [plain => $guarded, 'password "open sesame";'],
    [file  => $guarded, 'password file:html/secret;'],
    [both  => $guarded, 'username default; password "open sesame";'],
    [acl   => $users,   'username limiter; password tell;'],
);
for (@good) {
    my ($name, $redis, $credentials) = @$_;
    my $nginx = start($name, $redis, $credentials);
    is $nginx->get('/x')->header('X-Outcome'), 'PASSED', "$credentials lets the check through";
    $nginx->stop;
    is $redis->used('k', "$name/3600"), 1, 'and the charge';
    is $nginx->count_log(qr/rate limit:/), 0, 'without a word';
}

my @bad = (
    [wrong  => $guarded, 'password sesame;', qr/WRONGPASS/],
    [absent => $guarded, '', qr/NOAUTH/],
    [nobody => $users, 'username nobody; password tell;', qr/WRONGPASS/],
    [far    => $guarded, 'password "open sesame"; database 99;', qr/DB index is out of range/],
);
for (@bad) {
    my ($name, $redis, $credentials, $word) = @$_;
    for my $on_error ('allow', 'deny') {
        my $nginx    = start($name, $redis, $credentials, $on_error);
        my $begun    = time;
        my @statuses = map { $nginx->get('/x') } 1 .. 20;
        my $expected = $on_error eq 'allow' ? 200 : 503;
        is_deeply statuses(@statuses), {$expected => 20}, "refused ($credentials): $on_error gives $expected";
        my $outcome = $on_error eq 'allow' ? 'ERROR_ALLOWED' : 'ERROR_DENIED';
        is $statuses[0]->header('X-Outcome'), $outcome, 'the outcome';
        $nginx->wait_log(qr/\[error\].*primary \Q@{[$redis->address]}\E of shard "a" of "main".*$word/);
        my $lines = $nginx->count_log(qr/primary .* of shard "a"/);
        cmp_ok $lines, '<=', time - $begun + 2, "one line a second ($lines)";
        $nginx->stop;
    }
    is_deeply [grep { /\Q$name\E/ } $redis->keys], [], 'nothing was charged';
}

done;

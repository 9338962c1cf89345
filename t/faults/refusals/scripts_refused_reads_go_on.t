# A server that refuses scripts, for it has no Lua or its user may not run them, serves reads all the same, and whoever looks a bucket or slots up, which takes a
# script, is told why that fails. Checks of other limits go on at the same server.

use RateLimit::Test;

my %words = (
    nolua  => "ERR unknown command 'evalsha', with args beginning with: ",
    noperm => "NOPERM this user has no permissions to run the 'evalsha' command",
    oom    => "OOM command not allowed when used memory > 'maxmemory'.",
);
my %fakes = map {
    my $refusal = error($words{$_});
    $_ => RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        return hmget(undef, undef) if $words->[0] eq 'hmget';
        return $words->[0] =~ /^(?:eval|script)/ ? $refusal : fallback($words);
    });
} keys %words;
my $nginx = RateLimit::Nginx->start(
    http   => join('', map { redis_block($_, $fakes{$_}, timeouts('9s')) } sort keys %fakes),
    server => 'rate_limit_key $arg_k; rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always; location /limits/ { rate_limit_console manage; }' .
        join('', map {
            "location /$_ { rate_limit 1000r/h store=$_ name=check; }
             location /bucket-$_ { rate_limit 10r/h burst=100 name=bucket mode=charge_refund store=$_; }
             location /slots-$_ { rate_limit_concurrency 5 name=slots store=$_; }"
        } sort keys %fakes),
);
for my $store (sort keys %fakes) {
    my sub ask () { return outcome($nginx->get("/$store?k=k")) }
    my sub look_up ($limit) {
        my $told = $nginx->post('/limits/key', "key=k&store=$store&limit=$limit", 'Content-Type' => 'application/x-www-form-urlencoded');
        return $told->status . ' ' . ($told->body =~ /cannot be asked: (\w+)/ ? $1 : $told->body);
    }
    wait_until { ask() eq '200 PASSED' } what => "$store to be up";
    for (1 .. 3) {
        for my $limit (qw(bucket slots)) {
            is look_up($limit), "503 $store", "$store: it is said why the $limit cannot be looked up";
            is ask(), '200 PASSED', '... and checks go on';
        }
    }
}
is $nginx->count_log(qr/does not serve/), 0, 'no server is given up';

done;

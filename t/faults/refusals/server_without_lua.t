# A server that runs no scripts is told as what it is, with what to do: an unknown EVALSHA, as Redis and Valkey without Lua answer, or a user's rename of it.
# Requests are decided by what is known, or by rate_limit_on_error; charges wait, a try at a time, and are stored when the server has Lua.

use RateLimit::Test;

my %words = (
    renamed => sub ($words) { return "ERR unknown command '$words->[0]', with args beginning with: '$words->[1]' '1' " },
    old     => sub ($words) { return 'ERR unknown command `' . uc($words->[0]) . '`, with args beginning with: ' },
    engine  => sub ($words) { return $words->[0] eq 'evalsha' ? 'NOSCRIPT No matching script.' : q{ERR Could not find scripting engine 'lua'} },
);
my $reset = (time + 1800) . '000';
my %fakes = map {
    my $say = $words{$_};
    $_ => RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        my $command = $words->[0];
        return hmget(undef, undef) if $command eq 'hmget';
        return fallback($words) if $command !~ /^(?:eval|hincrby|script)/;
        return error($say->($words)) if $command =~ /^(?:eval|script)/ && !$conn->state('lua');
        return bulk('x') if $command eq 'script';
        return integer(2) if $command eq 'hincrby';
        return @$words > 9 ? array(integer(1), integer(1), integer($reset)) : array(integer(1), integer($reset));
    });
} keys %words;
my $real  = RateLimit::Redis->start(args => ['--rename-command', 'EVALSHA', '', '--rename-command', 'EVAL', '']);
my %all   = (%fakes, real => $real);
my $nginx = RateLimit::Nginx->start(
    http   => join('', map { redis_block($_, $all{$_}, timeouts('9s')) } sort keys %all),
    server => 'rate_limit_key $http_x_key; rate_limit_store $http_x_store; rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;
        location /limits/ { rate_limit_console view; }
        location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }
        location /lease { rate_limit 1000r/h name=l mode=lease; } location /burst { rate_limit 10r/h burst=100 name=b mode=charge_refund; }',
);
my sub ask ($uri, $store, $key = 'k') { return outcome($nginx->get($uri, 'X-Key' => $key, 'X-Store' => $store)) }
my $begun  = monotonic();
my $remedy = qr/nolua: it runs no Lua scripts, by which all is charged: use a server that is built with Lua, and rename neither EVAL nor EVALSHA/;

for my $store (sort keys %all) {
    is_deeply [map { ask('/x', $store, $_) } 'a' .. 'e', 'a'], [('200 PASSED') x 6], "$store: checks go on";
    $nginx->wait_log(qr/primary \S+ of "$store" refuses charges: $remedy \(charge\.lua: "/);
    is ask($_, $store), '503 ERROR_DENIED', "$store: $_ goes by rate_limit_on_error" for '/reserve', '/lease', '/burst';
    $nginx->wait_log(qr/could not be \w+: $remedy/);
}
for my $store (sort keys %fakes) {
    my $fake  = $fakes{$store};
    my $tries = grep { ($_->[1] // '') ne 'load' && $_->[0] =~ /^eval/ } $fake->commands;
    # Three requests and the first charge try; then the waits between tries grow from 50 ms on, and from the seventh on each is 2.5 s or more. A try
    # may be two commands: by the script's digest, and with its text.
    my $most = 2 * (10 + (monotonic() - $begun) / 2.5);
    cmp_ok $tries, '<=', $most, "$store: few tries";
    $fake->set(lua => 1);
    wait_until { (map { $_ // 0 } $fake->charged->{'rl:default/3600:a'})[0] >= 2 } what => "$store: what waited to be charged";
    is ask('/reserve', $store), '200 PASSED', "$store: reservations, too";
    $nginx->wait_log(qr/primary \S+ of "$store" takes charges again/);
}
is $nginx->count_log(qr/were dropped|are lost|in doubt/), 0, 'no charge is lost';
$nginx->stop;

done;

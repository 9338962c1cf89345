# While machines share overrides Redis is asked for their version alone, once a second; for the text only where the version is another one, and once.

use RateLimit::Test;

my $text = "overrides 1\n";
my $fake = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'hmget';
    my %fields = (version => $conn->state('version') || 5, text => $text);
    return hmget(map { $fields{$_} } @$words[2 .. $#$words]);
});
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $fake, 'overrides shared; ' . timeouts('9s')) . 'rate_limit_key $http_x_key;',
    server  => 'location / { rate_limit 1000r/h store=main; }',
);
my sub asked (@fields) { return scalar grep { "@$_[1 .. $#$_]" eq "rl:!overrides @fields" } $fake->commands('hmget') }

wait_until { asked('version') >= 3 } what => 'looks';
is asked('version', 'text'), 1, 'the text is read once';
$fake->set(version => 6);
wait_until { asked('version', 'text') == 2 } what => 'a look at the next version';
my $looks = asked('version');
wait_until { asked('version') >= $looks + 3 } what => 'more looks';
is asked('version', 'text'), 2, '... is the only one';

done;

# A key may have two windows of one period, and the primary gives one back and not the other: then the answer is InDoubt, and never says that nothing was
# done; also where a window has changed meanwhile, and where one write fails and another is not answered.

use RateLimit::Test;
use JSON::PP;

my $reset = (time + 3000) . '000';
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my ($command, @arguments) = @$words;
    return hmget(3, $reset) if $command eq 'hmget';
    return fallback($words) if $command !~ /^eval/;
    my $does = (split ' ', $conn->state('writes') // 'done done')[$conn->state('which') && $arguments[2] eq $conn->state('which') ? 0 : 1];
    return error('OOM no')                      if $does eq 'refused';
    return $conn->hold('gate', array(integer(0), integer($reset))) if $does eq 'mute';
    return array(integer(0), integer(0))        if $does eq 'changed';
    return array(integer(0), integer($reset));
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('fake', $fake, 'check_timeout 1s;') . 'rate_limit_key k;',
    server => 'location /limits/ { rate_limit_console manage; } location /a { rate_limit 5r/h name=two store=fake; }
        location /b { rate_limit 5r/h name=two store=fake window=clock; }',
);
my sub post ($body) { return $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded') }
my sub ready () { wait_until { post('key=a&limit=two')->status == 200 } what => 'the store to be up' }

is post('do=reset&key=a&limit=two')->status, 200, 'both are given back, though they are two';
my %keys = map { $_->[3] => 1 } grep { $_->[0] =~ /^eval/ } $fake->commands;
my ($one) = sort keys %keys;
is scalar(keys %keys), 2, 'there are two windows';
$fake->set(which => $one);

for my $case (
    ['done refused',    'InDoubt',          qr/It was done, or may have been, to some of the windows/],
    ['refused done',    'InDoubt',          qr/It was done, or may have been, to some of the windows/],
    ['done changed',    'InDoubt',          qr/changed twice.*It was done, or may have been, to some/],
    ['refused refused', 'StoreUnavailable', qr/Nothing was done/],
    ['changed changed', 'Conflict',         qr/changed twice.*Nothing was done/],
    ['mute refused',    'InDoubt',          qr/did not say that it was done/],
    ['refused mute',    'InDoubt',          qr/did not say that it was done/],
) {
    my ($writes, $code, $description) = @$case;
    $fake->set(writes => $writes);
    my $error = decode_json(post('do=reset&key=a&limit=two')->body);
    is $error->{error}, $code, "$writes: $code";
    like $error->{description}, $description, '... and why';
    unlike $error->{description}, qr/Nothing was done/, '... which is true' if $code eq 'InDoubt';
    $fake->set(writes => 'done done');
    $fake->release('gate');
    ready();
    wait_until { post('do=reset&key=a&limit=two')->status == 200 } what => 'the store to take writes';
}

done;

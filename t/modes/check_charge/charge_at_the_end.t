# The charge comes with the end of the request: its proposal opens the window if it still lies ahead, else a
# new one does; a window that is open by then is charged instead; once opened, a window's Reset stays.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, [], 'ok'] if $request->{uri} =~ /quick/;
    return $conn->hold($request->{uri}, [200, [], 'ok']);
});
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key $uri;',
    server => sprintf '
        location / { rate_limit 9r/h; proxy_http_version 1.1; proxy_pass http://%1$s; }
        location /second { rate_limit 9r/s; proxy_http_version 1.1; proxy_pass http://%1$s; }',
        $backend->address,
);

sub start ($uri) { return $nginx->reach($backend, $uri) }
sub finish ($http, $uri) {
    is $redis->stored($uri)->{used}, undef, "$uri: nothing is charged before the end"
        if $uri =~ /ahead/;
    $backend->release($uri);
    return limits($http->response);
}
sub window ($name) {
    wait_until { $redis->hash("rl:default/$name")->{used} } what => 'the charge';
    return $redis->hash("rl:default/$name");
}

my $from    = now;
my $request = start('/ahead');
my $to      = now;
wait_until { now > $to + 0.1 } what => 'some time';
my $ahead = finish($request, '/ahead');
my $first = window('3600:/ahead');
is $first->{used}, 1, 'the proposal opens the window';
cmp_ok $first->{reset} / 1000, '>=', $from + 3599.9, 'as proposed';
cmp_ok $first->{reset} / 1000, '<=', $to + 3600, 'before the request';
is $ahead->{reset}, int(($first->{reset} + 999) / 1000), 'and shown';

my @both  = map { start('/both') } 1, 2;
my @reset = map { finish($_, '/both')->{reset} } @both;
wait_until { $redis->used('/both') == 2 } what => 'both charges';
my $opened = int((999 + $redis->stored('/both')->{reset}) / 1000);
ok((grep { $_ == $opened } @reset), 'of two at a time one opens it');

my $open  = start('/open');
my $reset = int(1000 * now) + 1_800_000;
$redis->cmd('HSET', 'rl:default/3600:/open', used => 4, reset => $reset);
finish($open, '/open');
wait_until { $redis->used('/open') != 4 } what => 'the charge';
is_deeply $redis->stored('/open'), {used => 5, reset => $reset},
    'a window that is open by then is charged';
is limits($nginx->get('/open?quick'))->{reset}, int(($reset + 999) / 1000), 'and shown from then on';

my $soon = int(1000 * now) + 2000;
$redis->cmd('HSET', 'rl:default/3600:/closed', used => 4, reset => $soon);
my $closed = start('/closed');
wait_until { 1000 * now > $soon + 20 } what => 'the end of the window';
is finish($closed, '/closed')->{used}, 5, 'a window that closes during the request is shown as it was';
wait_until { $redis->stored('/closed')->{reset} != $soon } what => 'the charge';
my $new = $redis->stored('/closed');
is $new->{used}, 1, 'and a new one opened';
cmp_ok $new->{reset}, '>', $soon + 3_590_000, 'for a period';

my $second = start('/second');
my $end    = now + 1.05;
wait_until { now > $end } what => 'the end of what was proposed';
finish($second, '/second');
my $late = window('1:/second');
is $late->{used}, 1, 'a proposal that has passed';
cmp_ok $late->{reset} / 1000, '>', $end, 'is replaced by a new one';
cmp_ok $late->{reset} / 1000, '<=', now + 1, 'a period ahead';

done;

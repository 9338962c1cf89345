# Reloads and killed workers under load: never more requests run than the limit says, but for those whose worker was killed, and no slot is lost.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $busy  = RateLimit::Busy->start(from => 0.02, to => 0.2);
my @machines = map {
    RateLimit::Nginx->start(
        up => $busy, workers => 2, reuseport => 1, http => redis_block('main', $redis),
        server => 'location / { rate_limit_concurrency 20 key=$arg_k store=main; proxy_pass http://%%UP%%; }')
} 1 .. 2;
my $load = RateLimit::Process->start(name => 'load', run => sub {
    while (1) {
        RateLimit::Load::parallel(port => [map { $_->port } @machines], connections => 40, requests => 2000, uri => '/x?k=a');
    }
});
wait_until { $busy->most('a') == 20 } what => 'the limit';
for (1 .. 3) {
    $_->reload for @machines;
    let_pass(0.3);
}
is $busy->most('a'), 20, 'never more than twenty over reloads';
for (1 .. 3) {
    $_->kill_worker for @machines;
    let_pass(0.3);
}
$load->kill;
wait_until { !grep { /^[1-9]/ } values %{$redis->hash('rl:concurrency/n:a')} } what => 'all slots to go back';
wait_until { $busy->running('a') == 0 } what => 'all to end';
$busy->forget_most;
my @open;
wait_until {
    my $before = $busy->served('a');
    my $http   = $machines[@open % 2]->begin('/x?k=a&slow=6');
    wait_until { $busy->served('a') > $before || !$http->quiet(0.001) } what => 'a request';
    push @open, $http if $busy->served('a') > $before;
    @open == 20
} what => 'twenty to run';
is $busy->most('a'), 20, 'twenty run';
is $_->get('/x?k=a')->status, 429, 'and no more' for @machines;
is_deeply [map { $_->response->status } @open], [(200) x 20], 'all end';

done;

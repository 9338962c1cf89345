# docs/recipes.md, "Login": only failures count, those that run count too, and the limit holds while Redis is away.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [204] if $request->{body} eq 'right';
    return $request->{body} eq 'held' ? $conn->hold('gate', [401]) : [401];
});
my $nginx = start_text(code(project_file('docs/recipes.md'), 'recipe: login'), shards => $shards, app => $app);
my $key   = 'rl:login/600:127.0.0.1';
sub used () { return $shards->primary->hash($key)->{used} // 0 }
sub attempt ($password) { return $nginx->post('/login', $password)->status }

is attempt('right'), 204, "login $_" for 1 .. 7;
wait_until { used() == 0 } what => 'the costs to come back';
is attempt('wrong'), 401, 'a wrong password' for 1 .. 2;
is used(), 2, 'counts';

my @running = map { $nginx->http } 1 .. 5;
$_->start_request('POST', '/login', [], 'held') for @running;
wait_until { used() == 5 } what => 'three more to be charged before they have an answer';
is attempt('right'), 429, 'nothing is left meanwhile';
$app->release('gate');
is_deeply statuses(map { $_->response } @running), {401 => 3, 429 => 2}, 'of five at the same time three got in';
is attempt('right'), 429, 'the limit holds';

$_->kill for $shards->all;
is attempt('right'), 429, 'also while Redis is away';
$nginx->stop;

my $lonely = start_text(code(project_file('docs/recipes.md'), 'recipe: login'), shards => $shards, app => $app);
my @alone  = map { $lonely->post('/login', 'wrong')->status } 1 .. 7;
is_deeply \@alone, [(401) x 5, (429) x 2], 'and for a machine that never saw Redis';

done;

# docs/recipes.md, "Login": wrong passwords count, and attempts that are broken off or run; the application's own failures do not. The limit holds while
# Redis is away.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $app    = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [204] if $request->{body} eq 'right';
    return [$request->{body}] if $request->{body} =~ /^\d+$/;
    return $request->{body} eq 'held' ? $conn->hold('gate', [401]) : [401];
});
my $nginx = start_text("log_format ends \$status;\n" . code(project_file('docs/recipes.md'), 'recipe: login'), shards => $shards, app => $app,
    replace => {'location = /login {' => 'access_log %%DIR%%/ends ends; location = /login {'});
my $key   = 'rl:login/900:127.0.0.1';
sub used () { return $shards->primary->hash($key)->{used} // 0 }
sub attempt ($password) { return $nginx->post('/login', $password)->status }

# Attempts that the application keeps until it is told to answer.
sub held ($count) { wait_until { $app->requests >= $count } what => 'attempts to run'; return }

is attempt('right'), 204, "login $_" for 1 .. 7;
for my $failure (500, 502, 503, 504) {
    is attempt($failure), $failure, "the application fails: $failure" for 1 .. 3;
}
wait_until { used() == 0 } what => 'the costs to come back';
is attempt('wrong'), 401, 'a wrong password';
is used(), 1, 'counts';
my $left   = $nginx->http;
my $before = $app->requests;
$left->start_request('POST', '/login', [], 'held');
held($before + 1);
$nginx->abandon($left, 'ends', 499);
$app->release('gate');
is attempt('right'), 204, 'a client that leaves before the answer';
wait_until { used() <= 2 } what => 'the cost of that to come back';
is used(), 2, 'has used an attempt up';

my @running = map { $nginx->http } 1 .. 5;
$before = $app->requests;
$_->start_request('POST', '/login', [], 'held') for @running;
held($before + 3);
is used(), 5, 'three more are charged before they have an answer';
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

# An application that says by a redirect that a password was right, and by the form again that it was not.
my $forms = RateLimit::Backend->start(handler => sub ($request, $conn) { return [$request->{body} eq 'right' ? 303 : 200] });
my $form  = start_text(code(project_file('docs/recipes.md'), 'recipe: login_form'), app => $forms);
is $form->get('/login')->status, 200, "the form $_" for 1 .. 7;
is $form->post('/login', 'right')->status, 303, "login $_ by the form" for 1 .. 7;
is_deeply [map { $form->post('/login', 'wrong')->status } 1 .. 7], [(200) x 5, (429) x 2], 'wrong passwords in a form count';
is $form->get('/login')->status, 200, '... and the form can still be seen';

done;

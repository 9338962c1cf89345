# Values that are not there in time are told for each line, once, also where one location has hundreds: some at each request, so that no request writes
# hundreds of lines in one turn of the event loop.

use RateLimit::Test;

use constant {LIMITS => 300, MOST => 20};

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { return [200, ['X-User' => 'alice']] });
my @names   = map { "late$_" } 1 .. LIMITS;
my $nginx   = RateLimit::Nginx->start(
    up   => $backend,
    http => join('', map { "map \$user \$of_$_ { default ''; alice $_; }\n" } @names) . 'log_format ends "' . join(' ', map { "\$of_$_" } @names) . '|$user|$uri";',
    server => 'access_log %%DIR%%/ends ends; location = /auth { internal; proxy_pass http://%%UP%%; } location /none { }
        location /x { auth_request /auth; auth_request_set $user $upstream_http_x_user;
        ' . join("\n", map { "rate_limit 1000r/h name=$_ key=\$of_$_;" } @names) . ' alias %%DIR%%/html/none; }',
);
my sub told () { return $nginx->error_log =~ /the key of rate limit "(late\d+)" in \S+:\d+ is empty .* and is there when the request ends: add "phase=precontent"/g }

my @counts;
while (@counts < LIMITS) {
    is $nginx->get('/x')->status, 200, 'a request whose keys are all empty';
    push @counts, scalar(my @told = told());
    last if $counts[-1] == LIMITS;
}
is_deeply [sort(told())], [sort @names], 'all are told, each once';
my @each = map { $counts[$_] - ($_ ? $counts[$_ - 1] : 0) } 0 .. $#counts;
is_deeply [grep { $_ > MOST } @each], [], 'a request tells some of them' or diag "@each";
is $nginx->get('/x')->status, 200, 'one request more';
is scalar(my @told = told()), LIMITS, '... has nothing to tell';
$nginx->stop;
is_deeply [grep { !/^ *\|alice\|\S+$/ } $nginx->lines('ends')], [], "nginx's variables are as they were";

done;

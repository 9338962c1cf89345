# rate_limit_bypass is looked at in each phase that has limits: what authentication found frees a request from the
# limits of both phases.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my $auth   = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, $request->{headers}{'x-user'} eq 'root' ? ['X-Admin' => 1] : [], ''];
});
my $found = 'auth_request /auth; auth_request_set $admin $upstream_http_x_admin; rate_limit_bypass $admin;';
my $nginx = RateLimit::Nginx->start(
    http   => $shards->block('main') . 'rate_limit_store main; rate_limit_key $http_x_user;',
    server => "$found add_header X-Outcome \$rate_limit_status always;
        location / { rate_limit 1r/h phase=precontent; }
        location /both { rate_limit 5r/h name=early; rate_limit 1r/h name=late phase=precontent; }
        location = /auth { internal; proxy_pass http://@{[$auth->address]}; }",
);

for my $uri ('/x', '/both') {
    for (1 .. 2) {
        my $free = $nginx->get($uri, 'X-User' => 'root');
        shows $free, 200, {}, "$uri: passes, without headers";
        is $free->header('X-Outcome'), 'BYPASSED', 'bypassed by what authentication found';
    }
    my $limited = $nginx->get($uri, 'X-User' => 'alice');
    is $limited->header('X-Outcome'), 'PASSED', 'others are limited';
    is limits($limited)->{remaining}, 0, 'as configured';
}
$nginx->stop;
is_deeply [$shards->primary->keys], [map { "rl:$_/3600:alice" } qw(default early late)], 'only they are charged';

done;

# The log's advice for a value that is not there in time helps: it depends on what the value is made of, also through maps, and not on the phase alone.
# A request's body is read in neither phase, and a response comes after both.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    return [200, $request->{uri} eq '/auth' ? ['X-User' => 'alice'] : ['X-Reply' => 'bob']];
});
my $set    = qr/add "phase=precontent", or use what the request itself says$/;
my $body   = qr/nothing has read the request's body by then; use a header or an argument, or, from nginx 1\.31\.5 on, turn "client_body_early_read" on$/;
my $after  = qr/it is set after the precontent phase; use what the request itself says$/;
my $module = qr/this module sets it when it has checked the limits of the access phase; beside such a limit add "phase=precontent", or use what the request itself says$/;
my %late   = (    # [the limit, in access and in precontent]
    key      => ['rate_limit 1000r/h key=$user',               $set,    undef],
    mapped   => ['rate_limit 1000r/h key=$of_user',            $set,    undef],
    body     => ['rate_limit 1000r/h key=$request_body',       $body,   $body],
    of_body  => ['rate_limit 1000r/h key=$of_body',            $body,   $body],
    rate     => ['rate_limit $request_body key=all',           $body,   $body],
    burst    => ['rate_limit 1000r/h burst=$of_body key=all',  $body,   $body],
    number   => ['rate_limit_concurrency $of_body key=all',    $body,   $body],
    reply    => ['rate_limit 1000r/h key=$of_reply',           $after,  $after],
    status   => ['rate_limit 1000r/h key=$of_status',          $module, undef],
);
my @at = map { my $name = $_; map { ["$name.$_", $late{$name}[0], $late{$name}[$_ eq 'access' ? 1 : 2], $_] } qw(access precontent) } sort keys %late;
my $nginx = RateLimit::Nginx->start(
    up   => $backend,
    http => 'map $user $of_user { default ""; "~^(.+)$" "u:$1"; }
        map $request_body $of_body { default ""; "~^(\d+)" $1; }
        map $upstream_http_x_reply $of_reply { default ""; "~^(.+)$" "r:$1"; }
        map $rate_limit_status $of_status { default ""; PASSED yes; }',
    server => 'auth_request /auth; auth_request_set $user $upstream_http_x_user;
        location = /auth { internal; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_pass http://%%UP%%/auth; }
        ' . join "\n", map { "location /$_->[0] { rate_limit 1000r/h name=beside key=all; $_->[1] name=$_->[0] phase=$_->[3]; proxy_pass http://%%UP%%/; }" } @at,
);
is $nginx->post("/$_->[0]", '1000r/h')->status, 200, $_->[0] for @at;
for (@at) {
    my ($name, $limit, $remedy) = @$_;
    my @told = grep { /rate limit "\Q$name\E" in \S+:\d+ is empty when / } split /\n/, $nginx->error_log =~ s{ while logging request, client: .*}{}gr;
    is scalar @told, $remedy ? 1 : 0, "$name: told once, or not at all" or diag explain \@told;
    like $told[0], $remedy, '... with what helps' if $remedy;
}
$nginx->stop;

done;

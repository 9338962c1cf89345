# A key, rate, burst or number that is empty when its limit is checked, and is there when the request ends, is logged once
# for its line, however many locations and workers have the line; what is never there is not. The request's variables stay as
# they were.

use RateLimit::Test;

my $auth = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my $user = $request->{headers}{'x-name'};
    return [200, $user ? ['X-User' => $user, 'X-Rate' => '1000r/h', 'X-Burst' => 7, 'X-Number' => 9] : []];
});
# name => [the limit, what the log says of it; undef: nothing]
my $access = qr/add "phase=precontent", or use what the request itself says/;
my $after  = qr/it is set after the precontent phase; use what the request itself says/;
my %limit  = (
    key        => ['rate_limit 1000r/h name=key key=$user',                            qr/the key of .* so that it does not apply, .* $access/],
    mapped     => ['rate_limit 1000r/h name=mapped key=$of_user',                      qr/the key of .* $access/],
    mixed      => ['rate_limit 1000r/h name=mixed "key=$user$of_user"',                qr/the key of .* $access/],
    chained    => ['rate_limit 1000r/h name=chained key=$chained',                     qr/the key of .* $access/],
    slots_key  => ['rate_limit_concurrency 100 name=slots_key key=$user',              qr/the key of .* $access/],
    rate       => ['rate_limit $rate name=rate key=all',                               qr/the rate of .* so that it does not apply, .* $access/],
    burst      => ['rate_limit 1000r/h burst=$burst name=burst key=all',               qr/the burst of .* so that no bucket counts, .* $access/],
    number     => ['rate_limit_concurrency $number name=number key=all',               qr/the number of .* so that it does not apply, .* $access/],
    too_late   => ['rate_limit 1000r/h name=too_late key=$of_sent phase=precontent',   qr/the key of .* $after/],
    in_time    => ['rate_limit 1000r/h name=in_time key=$user phase=precontent',       undef],
    never      => ['rate_limit 1000r/h name=never key=$http_x_nothing',                undef],
    by_intent  => ['rate_limit 1000r/h name=by_intent key=$nothing',                   undef],
    set        => ['rate_limit 1000r/h name=set key=$set',                             undef],
    own        => ['rate_limit 1000r/h name=first key=all; rate_limit 1000r/h name=own key=$rate_limit_id', undef],
);
my $nginx = RateLimit::Nginx->start(
    workers => 2, up => $auth,
    http => 'map $user $of_user { default ""; "~^(.+)$" "u:$1"; }
        map $user $plan { default free; alice gold; }
        map $plan $chained { default ""; gold "gold"; }
        map $uri $nothing { default ""; }
        map $sent_http_content_type $of_sent { default $sent_http_content_type; }
        log_format ends "$uri of_user=$of_user chained=$chained user=$user set=$set"; add_header X-Id $rate_limit_id;',
    server => 'access_log %%DIR%%/ends ends; set $set "";
        location = /auth { internal; proxy_pass http://%%UP%%; }
        auth_request /auth; auth_request_set $user $upstream_http_x_user; auth_request_set $rate $upstream_http_x_rate;
        auth_request_set $burst $upstream_http_x_burst; auth_request_set $number $upstream_http_x_number;'
        . join "\n", map { "location /$_/ { $limit{$_}[0]; location /$_/1 { try_files /x =404; } location /$_/2 { try_files /x =404; } }" } sort keys %limit,
);
my @names = sort keys %limit;
for my $name (@names) {
    $nginx->get("/$name/$_") for 1, 2;
}
my $line = qr/is there when the request ends/;
is $nginx->count_log(qr/"too_late" .* $line/), 1, 'what is there for any client';
is $nginx->count_log($line), 1, 'nothing is said of the others while nobody has a name';
for my $round (1 .. 10) {
    for my $name (@names) {
        $nginx->get("/$name/$_", 'X-Name' => 'alice') for 1, 2;
    }
}
for my $name (@names) {
    is $nginx->count_log(qr/rate limit "$name" in \S+:\d+ is empty .* $line/), $limit{$name}[1] ? 1 : 0, "$name: told once, or not at all";
    ok $nginx->count_log(qr/$limit{$name}[1]/), "$name: with the remedy" if $limit{$name}[1];
}
is $nginx->count_log(qr/uninitialized/), 0, 'a look says nothing else';
is limits($nginx->get('/in_time/1', 'X-Name' => 'alice'))->{used}, 21, 'the remedy';
$nginx->stop;
my %seen = map { $_ => 1 } map { s{^\S+ }{}r } grep { m{^/x of_user= chained=gold } || m{^/x of_user=u:alice chained= } || m{^/x of_user= chained= } } $nginx->lines('ends');
ok $seen{'of_user= chained=gold user=alice set='}, 'a map keeps what it found when its limit was checked';
ok $seen{'of_user=u:alice chained= user=alice set='}, 'and another one';

done;

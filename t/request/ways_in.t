# Whichever way a request reaches a limited location, a report or a console (directly, by a subrequest, a redirect, an error page or post_action), and
# whichever block of it holds (`if`, `limit_except`, a nested location): the worker lives, a limited location charges the request that comes to it and
# nothing else is charged, reports and consoles answer as the reference says, and only operators' own requests act.

use RateLimit::Test;

my %variant = (    # what holds in the location
    plain     => '', nested => '', in_view => '', in_report => '',
    if_taken  => 'if ($uri) { set $taken yes; }',
    if_not    => 'if ($http_x_never) { set $taken yes; }',
    for_post  => 'limit_except GET { allow all; }',
    for_get   => 'limit_except POST { allow all; }',
);
my %around = (nested => '', in_view => 'rate_limit_console view;', in_report => 'rate_limit_report;');
my %kind = (    # the content of the location, what follows its name in the path, and the answer of it
    limited => ['alias %%DIR%%/html/;',        'x',    'page'],
    report  => ['rate_limit_report;',          '',     'report'],
    view    => ['rate_limit_console view;',    'json', 'console'],
    manage  => ['rate_limit_console manage;',  'json', 'console'],
);
my %way = (    # where the target is TO: what leads there, and what is asked for
    error_page   => ['error_page 404 405 = TO;', 'none'],
    named        => ['error_page 404 405 = @by-NAME;', 'none', 'location @by-NAME { rewrite ^ TO last; }'],
    try_files    => ['try_files /none TO;', 'x'],
    index        => ['index TO;', ''],
    rewrite      => ['rewrite ^ TO last;', 'x'],
    accel        => ['proxy_pass http://unix:%%DIR%%/up:TO;', ''],
    post_action  => ['post_action TO;', 'x'],
    auth_request => ['auth_request TO;', 'x'],
    mirror       => ['mirror TO;', 'x'],
    add_before   => ['addition_types *; add_before_body TO;', 'x'],
    add_after    => ['addition_types *; add_after_body TO;', 'x'],
    ssi          => ['ssi on; ssi_types *;', 'ssi?to=TO'],
    ssi_set      => ['ssi on; ssi_types *;', 'ssi_set?to=TO'],
);
my %in_body = map { $_ => 1 } qw(add_before add_after ssi ssi_set);
my %acts    = map { $_ => 1 } qw(direct named try_files index rewrite);     # what keeps the method, and is no subrequest

my (@cases, $server);
for my $kind (sort keys %kind) {
    my ($content, $below, $word) = @{$kind{$kind}};
    for my $variant (sort keys %variant) {
        my ($name, $in) = ("$kind-$variant", "$content $variant{$variant}");
        my $location = "location /$name/ { $in }";
        $location = "location /$name/ { $around{$variant} location /$name/in/ { $in } }" if defined $around{$variant};
        $server .= "$location\n";
        my $path = defined $around{$variant} ? "/$name/in/" : "/$name/";
        push @cases, ["direct-$name", "$path$below", "200 $word", "${path}key"];
        for my $way (sort keys %way) {
            my ($leads, $asked, $more) = @{$way{$way}};
            my $of_subrequest = $kind eq 'limited' ? '' : $kind eq 'report' ? ' report' : $way eq 'ssi_set' ? '' : ' refused';
            my $answer =
                  $in_body{$way} ? "200 page$of_subrequest"
                : $way eq 'auth_request' && $word eq 'console' ? '403 '
                : $way =~ /auth_request|mirror|post_action/ ? '200 page' : "200 $word";
            my sub to ($text, $to, $of) { return $text =~ s/TO/$to/gr =~ s/NAME/$of/gr }
            for my $of ("$way-$name", $kind eq 'manage' ? "$way-key-$name" : ()) {
                my $to = $of =~ /-key-/ ? "${path}key" : "$path$below";
                my $location = "location /$of/ { rate_limit off; alias %%DIR%%/html/; $leads } " . ($more // '');
                $server .= to($location, $to, $of) . "\n";
            }
            push @cases, ["$way-$name", to("/$way-$name/$asked", "$path$below", ''), $answer,
                to("/$way-key-$name/$asked", "${path}key", '')];
        }
    }
    # Named locations, which no console can be.
    next if $word eq 'console';
    for my $variant (grep { !defined $around{$_} } sort keys %variant) {
        my $name = "$kind-$variant";
        my $in   = ($kind eq 'report' ? $content : '') . $variant{$variant};
        $server .= "location \@$name { $in } location /at-$name/ { rate_limit off; rewrite ^ /x break; try_files /none \@$name; }\n";
        push @cases, ["at-$name", "/at-$name/", "200 $word"];
    }
}
# Subrequests that are copies of their request, in its location.
for my $variant (sort grep { !defined $around{$_} } keys %variant) {
    my $proxy = 'proxy_pass http://unix:%%DIR%%/up:/parts; proxy_http_version 1.1; proxy_cache copies; add_header X-Cache $upstream_cache_status always;';
    $server .= "location /slice-$variant/ { slice 4; proxy_cache_key slice\$uri\$slice_range; proxy_set_header Range \$slice_range;
            proxy_cache_valid 1h; $proxy $variant{$variant} }
        location /update-$variant/ { proxy_cache_key \$uri; proxy_cache_valid 1s; proxy_cache_use_stale updating;
            proxy_cache_background_update on; $proxy $variant{$variant} }\n";
}

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        rate_limit_key $http_x_key; rate_limit 9r/h; rate_limit 99r/h name=far store=main; proxy_cache_path %%DIR%%/cache keys_zone=copies:1m;
        server { listen unix:%%DIR%%/up; rate_limit off; location / { add_header X-Accel-Redirect $uri; return 204; } location = /parts { } }',
    server => "server_name other; $server location /limits/ { rate_limit_console view; }",
    files  => {
        x => "a page\n", parts => join('', 'a' .. 'z'), ssi => 'a page <!--# include virtual="$arg_to" -->',
        ssi_set => 'a page <!--# include virtual="$arg_to" set="got" --><!--# echo var="got" encoding="none" -->',
    });
my @workers = $nginx->workers;

my sub answer_of ($response) {
    my %sign = (page => qr/a page/, report => qr/"rate":\{/, console => qr/"requests":\{/, refused => qr/answers no subrequest/);
    return $response->status . ' ' . join ' ', grep { $response->body =~ $sign{$_} } qw(page report console refused);
}
my %used;
for my $case (@cases) {
    my ($name, $uri, $expected) = @$case;
    is eval { answer_of($nginx->get($uri, 'X-Key' => $name, Host => 'other')) } // 'nothing', $expected, "GET $name";
    $used{$name} = 1 if $name =~ /^(?:direct|error_page|named|at|try_files|index|rewrite|accel|post_action)-limited/;
}
my @form = ('Content-Type' => 'application/x-www-form-urlencoded');
my @banned;
for my $case (grep { $_->[0] =~ /-manage-/ } @cases) {
    my ($name, undef, undef, $uri) = @$case;
    my $response = eval { $nginx->post($uri, "do=ban&limit=default&key=$name", 'X-Key' => $name, Host => 'other', @form) };
    ok $response, "POST $name is answered";
    push @banned, $name if $acts{$name =~ s/-.*//r};
}
for my $variant (grep { !defined $around{$_} } sort keys %variant) {
    is $nginx->get("/slice-$variant/", 'X-Key' => "slice-$variant")->body, join('', 'a' .. 'z'), "slices: $variant";
    $used{"slice-$variant"} = 1;
    $nginx->get("/update-$variant/", 'X-Key' => "update-$variant-1");
    $used{"update-$variant-1"} = 1;
}
for my $variant (grep { !defined $around{$_} } sort keys %variant) {
    my $n = 1;
    wait_until {
        my $key = "update-$variant-" . ++$n;
        $used{$key} = 1;
        $nginx->get("/update-$variant/", 'X-Key' => $key)->header('X-Cache') eq 'STALE'
    } what => "an update in the background: $variant";
}
my $told = $nginx->told;
is scalar @{$told->{overrides}}, @banned, 'only direct requests, and what is led on by their own methods, act';
is_deeply [map { "$_->{name} $_->{charged}" } @{$told->{limits}}], ['default ' . keys %used, 'far ' . keys %used], 'what is limited is charged, by the console';
is_deeply [$nginx->workers], \@workers, 'the workers live';
$nginx->stop;
my %stored = map { /:([^:]*)$/ => $redis->hash($_)->{used} } $redis->keys;
is_deeply [map { "$_ $stored{$_}" } sort keys %stored], [map { "$_ $used{$_}" } sort keys %used], '... and by the store';

done;

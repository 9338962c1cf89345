# Whatever way a request goes through nginx, and however it ends, its slots are free again: with subrequests, redirects, error pages, other
# limits that refuse, upstreams that fail.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $dead    = free_port();
my $backend = RateLimit::Backend->start(
    handler => sub ($request, $conn) {
        my $uri = $request->{uri};
        return [200, ['X-Accel-Redirect' => '/landed?' . ($uri =~ s/.*\?//r)]] if $uri =~ m{^/accel};
        $conn->close if $uri =~ m{^/cut};
        return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut short" if $uri =~ m{^/cut};
        return RateLimit::Backend::as_asked($request, $conn);
    });
my $nginx = RateLimit::Nginx->start(
    up => $backend, workers => 2, files => {'page.html' => '<!--# include virtual="/part?k=$arg_k" -->' x 5},
    http => redis_block('main', $redis) . "
        upstream failing { server 127.0.0.1:$dead max_fails=0; server %%UP%% max_fails=0; }
        map \$arg_n \$slots { default 2; ~^(\\d+)\$ \$1; no ''; }
        log_format short '\$request_uri \$status';",
    server => join "\n", 'rate_limit_key $arg_k; rate_limit_concurrency $slots; access_log %%DIR%%/ends short; client_max_body_size 1k;
        error_page 404 = /landed; error_page 500 @named; error_page 418 =200 /x;',
        map { "rate_limit_store \$arg_s;\n$_" }
        'location / { proxy_pass http://%%UP%%; }
        location /landed { internal; rate_limit_concurrency 2; rate_limit_concurrency 2 name=second; proxy_pass http://%%UP%%/fine; }
        location @named { proxy_pass http://%%UP%%; }
        location /404 { proxy_intercept_errors on; proxy_pass http://%%UP%%; }
        location /500 { proxy_intercept_errors on; proxy_pass http://%%UP%%; }
        location /rejects { error_page 429 = /x; rate_limit_concurrency 0; }
        location /after { post_action /landed; proxy_pass http://%%UP%%; }
        location /auth { auth_request /part; proxy_pass http://%%UP%%; }
        location /refused { auth_request /forbidden; proxy_pass http://%%UP%%; }
        location /forbidden { proxy_pass_request_body off; proxy_set_header Content-Length ""; rate_limit_concurrency 2; proxy_pass http://%%UP%%/403; }
        location /any { satisfy any; deny all; auth_request /forbidden; proxy_pass http://%%UP%%; }
        location /any_yes { satisfy any; deny all; auth_request /part; proxy_pass http://%%UP%%; }
        location /denied { deny all; }
        location /part { proxy_pass_request_body off; proxy_set_header Content-Length ""; rate_limit_concurrency 2 name=part; proxy_pass http://%%UP%%/fine; }
        location /page.html { ssi on; }
        location /mirrored { mirror /part; proxy_pass http://%%UP%%; }
        location /next { proxy_next_upstream error; proxy_pass http://failing; }
        location /nobody { proxy_pass http://127.0.0.1:' . $dead . '; }
        location /cut { proxy_pass http://%%UP%%; }
        location /accel { proxy_pass http://%%UP%%; }
        location /return { return 204; }
        location /rewritten { rewrite ^ /landed last; }
        location /tried { try_files /nothing /x; }
        location /to_named { try_files /nothing @named; }
        location /precontent { rate_limit_phase precontent; proxy_pass http://%%UP%%; }
        location /precontent_tried { rate_limit_phase precontent; try_files /nothing @named; }
        location /two { rate_limit_concurrency 2; rate_limit_concurrency 2 name=second key=$arg_k-2; proxy_pass http://%%UP%%; }
        location /second_full { rate_limit_concurrency 2; rate_limit_concurrency 0 name=second; proxy_pass http://%%UP%%; }
        location /second_full_precontent { rate_limit_concurrency 2; rate_limit_concurrency 0 name=second phase=precontent; proxy_pass http://%%UP%%; }
        location /second_full_local { rate_limit_concurrency 2; rate_limit_concurrency 0 name=second store=local; proxy_pass http://%%UP%%; }
        location /window { rate_limit 1r/h; proxy_pass http://%%UP%%; }
        location /reserve { rate_limit 1r/h mode=charge_refund name=reserve; proxy_pass http://%%UP%%; }
        location /lease { rate_limit 1r/h mode=lease name=lease; proxy_pass http://%%UP%%; }
        location /bucket { rate_limit 1r/h burst=1 name=bucket; proxy_pass http://%%UP%%; }
        location /window_precontent { rate_limit 1r/h name=late phase=precontent; proxy_pass http://%%UP%%; }
        location /dry { rate_limit_concurrency 1 dry_run=on; proxy_pass http://%%UP%%; }
        location /unknown_store { rate_limit_concurrency 2; rate_limit 5r/h name=x store=no$arg_none; proxy_pass http://%%UP%%; }
        location /unchecked { rate_limit_on_error deny; rate_limit_concurrency 2; rate_limit 5r/h name=x store=no$arg_none; proxy_pass http://%%UP%%; }',
);
my @ways = ('/x', '/gone', '/304', '/404', '/500', map { "/$_" } qw(rejects after auth refused any any_yes denied page.html mirrored next nobody cut
    accel return rewritten tried to_named precontent precontent_tried two second_full second_full_precontent second_full_local window reserve
    lease bucket window_precontent dry unknown_store unchecked));

for my $store (qw(local main)) {
    for my $way (@ways) {
        my $args = "s=$store&k=" . $way =~ tr/\///dr;
        my @got = map { eval { $nginx->request($_, "$way?$args", [], $_ eq 'POST' ? 'body' : undef)->status } // 'cut' } qw(GET HEAD GET POST);
        push @got, map { $_->status } $nginx->parallel(connections => 6, requests => 18, uri => "$way?$args");
        push @got, $nginx->post("$way?$args", 'x' x 2000)->status;
        push @got, map { eval { $nginx->get("$way?$args&n=$_")->status } // 'cut' } 0, 'no', 1, 3;
        my %count;
        $count{$_}++ for @got;
        my $ways = join ', ', map { "$count{$_} times $_" } sort keys %count;
        my ($try, @open) = 0;
        wait_until {
            $_->abort for splice @open;
            my $uri  = "/slow?$args&try=" . ++$try;    # those of another way or try may come only now
            my $runs = sub { scalar grep { $_->[1] eq $uri } $backend->requests };
            @open = map { $nginx->begin($uri) } 1, 2;
            wait_until { $runs->() == 2 || grep { !$_->quiet(0.001) } @open } what => "$store $way: two requests to run or to be rejected";
            $runs->() == 2
        } what => "both slots after $store $way ($ways)";
        is $nginx->get("/x?$args")->status, 429, "$store $way: two slots after $ways";
        $backend->release('gate');
        is_deeply [map { $_->response->status } @open], [200, 200], '... for two requests';
    }
}
done;

# In a dry run all requests pass; those for which there is no slot hold none, and are told as such. Also where a variable says so.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my $nginx   = RateLimit::Nginx->start(
    up => $backend, http => redis_block('main', $redis) . 'map $arg_dry $dry { default off; yes on; }',
    server => 'add_header X-Outcome $rate_limit_status always; rate_limit_key $arg_k; rate_limit_store $arg_s;
        location / { rate_limit_concurrency 3; proxy_pass http://%%UP%%; }
        location /dry { rate_limit_concurrency 3 dry_run=on; proxy_pass http://%%UP%%; }
        location /var { rate_limit_concurrency 3 dry_run=$dry; proxy_pass http://%%UP%%; }',
);

for my $store (qw(local main)) {
    my $args = "s=$store&k=a";
    my @open = map { $nginx->reach($backend, "/dry/slow?$args") } 1 .. 8;
    is outcome($nginx->get("/x?$args")), '429 REJECTED', "$store: three run that count";
    is outcome($nginx->get("/var?$args")), '429 REJECTED', '... also where a variable says that it is no dry run';
    is outcome($nginx->get("/var?$args&dry=yes")), '200 REJECTED_DRY_RUN', '... but not where it is one';
    like $redis->hash('rl:concurrency/n:a') && join(',', values %{$redis->hash('rl:concurrency/n:a')}), qr/^3 \d+ \d+$/,
        'Redis knows of three' if $store eq 'main';
    $backend->release('gate');
    is_deeply outcomes(map { $_->response } @open), {'200 PASSED' => 3, '200 REJECTED_DRY_RUN' => 5}, "$store: all pass, three of them with a slot";
    wait_until { outcome($nginx->get("/x?$args")) eq '200 PASSED' } what => 'a slot';
    @open = map { $nginx->reach($backend, "/slow?$args") } 1 .. 2;
    push @open, map { $nginx->reach($backend, "/dry/slow?$args") } 1 .. 3;
    is outcome($nginx->get("/x?$args")), '429 REJECTED', "$store: both kinds count together, and each slot once";
    $backend->release('gate');
    is_deeply outcomes(map { $_->response } @open), {'200 PASSED' => 3, '200 REJECTED_DRY_RUN' => 2}, '... to the end';
}

done;

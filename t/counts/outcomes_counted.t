# Each outcome of a limit raises its own counter and no other, whichever worker decides and whichever answers; a request under several
# limits counts once for each of them, and once as a request.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $gone  = free_port();
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $redis) . "rate_limit_redis gone { shard a primary=127.0.0.1:$gone; }",
    server  => 'rate_limit_key $arg_k; rate_limit_store main; error_page 404 /error;
        location /limits/ { rate_limit_console view; }
        location /passed { rate_limit 100r/h name=passed; }
        location /rejected { rate_limit 1r/h name=rejected store=local; }
        location /dry { rate_limit 1r/h name=dry store=local dry_run=on; }
        location /allowed { rate_limit 1r/h name=allowed store=gone; }
        location /local { rate_limit 1000r/h name=local store=gone; rate_limit_on_error local; }
        location /denied { rate_limit 1r/h name=denied store=gone; rate_limit_on_error deny; }
        location /bypassed { rate_limit 1r/h name=bypassed; rate_limit_bypass $arg_k; }
        location /three { rate_limit 100r/h name=one; rate_limit 100r/m name=two; rate_limit 3r/h name=three store=local; }
        location = /missing { rate_limit 100r/h name=missing; }
        location = /error { internal; rate_limit 100r/h name=error; }',
);
my sub page () { return decode_json($nginx->get('/limits/json')->body) }
my @outcomes = qw(passed rejected rejected_dry_run error_local error_allowed error_denied);
my sub is_counted ($page, $name, %counts) {
    my ($limit) = grep { $_->{name} eq $name } @{$page->{limits}};
    is_deeply $limit->{decisions}, {(map { $_ => 0 } @outcomes), %counts}, "$name: " . (join(', ', map { "$counts{$_} $_" } sort keys %counts) || 'none');
    return $limit;
}

my $page = page();
is_deeply $page->{requests}, {map { $_ => 0 } @outcomes, 'bypassed'}, 'all is 0 at first';
is_counted($page, $_) for qw(passed denied);

for my $uri (qw(passed rejected dry allowed local denied bypassed missing)) {
    $nginx->get("/$uri?k=x") for 1 .. 5;
}
$page = page();
my $passed   = is_counted($page, 'passed',   passed => 5);
my $rejected = is_counted($page, 'rejected', passed => 1, rejected => 4);
my $dry      = is_counted($page, 'dry',      passed => 1, rejected_dry_run => 4);
is_counted($page, 'allowed',  error_allowed => 5);
is_counted($page, 'local',    error_local   => 5);
is_counted($page, 'denied',   error_denied  => 5);
is_counted($page, 'missing',  passed        => 5);
is_counted($page, $_) for qw(bypassed error);
my %requests = (passed => 12, rejected => 4, rejected_dry_run => 4, error_allowed => 5, error_local => 5, error_denied => 5, bypassed => 5);
is_deeply $page->{requests}, \%requests, 'each request once, also where an error page follows';
is $passed->{charged}, 5, 'what was charged';
is $rejected->{unasked}, 5, 'decisions for which no store was asked';
is_deeply [@{$dry}{qw(store mode window enforced rates)}], ['local', 'check_charge', 'first', 0, [{limit => 1, period => 3600}]], 'what a limit is';

$nginx->get('/three?k=x') for 1 .. 5;
$page = page();
is_counted($page, 'three', passed => 3, rejected => 2);
is_counted($page, 'one',   passed => 5);
is_deeply $page->{requests}, {%requests, passed => 15, rejected => 6}, 'a request under three limits is one';

my $metrics = $nginx->get('/limits/metrics')->body;
like $metrics, qr/^nginx_rate_limit_decisions_total\{limit="dry",store="local",outcome="rejected_dry_run"\} 4$/m, 'metrics say the same of limits';
like $metrics, qr/^nginx_rate_limit_requests_total\{outcome="bypassed"\} 5$/m, '... and of requests';

done;

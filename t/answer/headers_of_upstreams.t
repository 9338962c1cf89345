# The headers with which an upstream's 429 describes its own limit stay as they are; other answers get the fields of this module. A `retry_after`
# alone becomes Retry-After.

use RateLimit::Test;

my %own = (
    none => [], github => ['X-RateLimit-Limit' => 7, 'X-RateLimit-Remaining' => 0], ietf => ['RateLimit' => '"a";r=0;t=9', 'Retry-After' => 9],
    other => ['ratelimit-remaining' => 0], name => ['x-ratelimit-remaining-tokens' => 0], retry => ['Retry-After' => 9],
);
my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
    my ($status, $kind) = $request->{uri} =~ m{(\d+)/(\w+)};
    return [$status, $own{$kind}, ''];
});
my $nginx = RateLimit::Nginx->start(
    up     => $backend,
    server => 'rate_limit_key $arg_k; proxy_intercept_errors on;
        location / { rate_limit 100r/h name=ours; proxy_pass http://%%UP%%; }
        location /both/ { rate_limit 100r/h name=ours; rate_limit_headers github ietf; proxy_pass http://%%UP%%; }
        location /page/ { rate_limit 1r/h name=page; error_page 429 /429/github; proxy_pass http://%%UP%%; }
        location /retry/ { rate_limit 1r/h name=retry; rate_limit_headers retry_after; proxy_pass http://%%UP%%; }
        location /denied/ { rate_limit x$arg_rate name=d; rate_limit_on_error deny; rate_limit_headers retry_after; proxy_pass http://%%UP%%; }',
);
sub fields ($uri) {
    return {map { /^((?:x-)?ratelimit[\w-]*|retry-after):\s*(.*?)\r?$/i ? (lc $1 => $2) : () } split /\n/, $nginx->get($uri)->raw_head};
}

for my $kind (qw(github ietf other name)) {
    my %given = @{$own{$kind}};
    is_deeply fields("$_/429/$kind?k=1"), {map { lc $_ => "$given{$_}" } keys %given}, "$_: a 429 of $kind is as it came" for '', '/both';
    is fields("/200/$kind?k=2")->{'x-ratelimit-resource'}, 'ours', "200 of $kind gets ours";
    is fields("/503/$kind?k=2")->{'x-ratelimit-resource'}, 'ours', "503 of $kind gets ours";
}
is fields("/429/$_?k=3")->{'x-ratelimit-resource'}, 'ours', "a 429 of $_ gets ours" for qw(none retry);
is fields('/429/retry?k=3')->{'retry-after'}, 9, '... and keeps Retry-After';

is fields('/page/200/none?k=4')->{'x-ratelimit-resource'}, 'page', 'a limit of ours';
is fields('/page/200/none?k=4')->{'x-ratelimit-resource'}, 'page', '... says so also on a page that an upstream sends';

is_deeply fields('/retry/200/none?k=5'), {}, 'retry_after: nothing while it passes';
is_deeply [keys %{fields('/retry/200/none?k=5')}], ['retry-after'], '... and Retry-After alone at a rejection';
is_deeply fields('/denied/200/none?k=6'), {'retry-after' => 1}, '... and where nobody can be asked';

done;

# jitter= spreads Retry-After by the key, and nothing else.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    server => 'rate_limit_key $arg_k; rate_limit_headers github ietf;
        location / { rate_limit 1r/366d window=clock jitter=1000s; add_header X-Retry $rate_limit_retry_after always; add_header X-After $rate_limit_reset_after always; }
        location /none { alias %%DIR%%/html/x; rate_limit 1r/366d window=clock name=none; }',
);
# How many seconds more Retry-After says than the window lasts.
sub more ($uri) {
    $nginx->get($uri);
    my $rejected = $nginx->get($uri);
    is $rejected->status, 429, "$uri: rejected";
    my $limits = limits($rejected);
    my ($left) = $rejected->header('RateLimit') =~ /;t=(\d+)/;
    cmp_ok abs($limits->{reset} - int(now) - $left), '<=', 1, '... the end is the same for all';
    is $rejected->header('X-Retry'), $limits->{retry_after}, '... the variable agrees' if $uri !~ /none/;
    is $rejected->header('X-After'), $left, '... and that of the reset' if $uri !~ /none/;
    return $limits->{retry_after} - $left;
}

my %more = map { ($_ => more("/x?k=$_")) } 1 .. 20;
is scalar(grep { $_ < 0 || $_ > 1000 } values %more), 0, 'within the time';
my %different = map { ($_ => 1) } values %more;
cmp_ok scalar(keys %different), '>', 15, 'not the same for most';
is more("/x?k=7"), $more{7}, 'for one client always the same';
is more('/none?k=1'), 0, 'without jitter it is the end';

done;

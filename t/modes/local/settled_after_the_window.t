# A request that was charged in advance and outlives its window changes no later one at its end: neither by giving back
# nor by costing more.

use RateLimit::Test;

my $backend = RateLimit::Backend->start;
my $nginx = RateLimit::Nginx->start(
    clock => 1,
    http  => 'rate_limit_key $http_x_key; log_format end "$status $http_x_key";
        map $upstream_http_x_cost $cost { "" 10; default $upstream_http_x_cost; }',
    server => 'access_log %%DIR%%/ends end;' . join '', map { sprintf '
        location /%1$s/ { rate_limit 20r/h name=%1$s mode=%1$s cost=$cost; proxy_pass http://%2$s; }',
        $_, $backend->address } qw(charge_refund lease),
);

sub ask ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key) }

# Returns what is used. The request that looks is exempt, so its own cost is left out.
sub shown ($mode, $key) { return limits(ask("/$mode/?status=304", $key))->{used} }

my %slow = (down => 'cost=1', up => 'cost=15', exempt => 'status=304', alone => 'cost=2');
my @keys = sort keys %slow;
my @open;
for my $mode (qw(charge_refund lease)) {
    push @open, map { $nginx->reach($backend, "/$mode/slow?$slow{$_}", 'X-Key' => $_) } @keys;
}
is_deeply [map { shown('lease', $_) } @keys], [(10) x 4], 'they are charged';

$nginx->travel('+3700');
wait_until { shown('lease', 'down') == 0 } what => 'the next window';
for my $mode (qw(charge_refund lease)) {
    ask("/$mode/?cost=4", $_) for grep { $_ ne 'alone' } @keys;
    is_deeply [map { shown($mode, $_) } @keys], [0, 4, 4, 4], "$mode: others charge the next window";
}
$backend->release('gate');
is_deeply statuses(map { $_->response } @open), {200 => 6, 304 => 2}, 'they end';
wait_until { $nginx->lines('ends') >= $backend->requests } what => 'the log';
is_deeply [map { shown($_, 'alone') } qw(charge_refund lease)], [0, 0], 'where nothing is used, nothing is';
is_deeply [map { my $mode = $_; map { shown($mode, $_) } @keys[1 .. 3] } qw(charge_refund lease)], [(4) x 6],
    'where something is, it stays';

done;

# The console tells how full the shared memory is: windows that are open and closed, what gave way for want of room, and what found none. In
# JSON and metrics it is the same, and adds up to what fits.

use RateLimit::Test;
use JSON::PP;

my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_zone 128k; rate_limit_key $http_x_key; rate_limit_log_level info; keepalive_requests 1000000;',
    server => 'location /limits/ { rate_limit_console view; }
        location /wide { rate_limit 10r/h name=wide; }
        location /narrow { rate_limit 1r/h name=narrow; }',
);
my sub zone () { return $nginx->told->{zone} }
my sub flood ($uri, @keys) { return $nginx->parallel(connections => 10, requests => [map { [$uri, 'X-Key' => $_] } @keys]) }

# A look counts for a second.
my $zone = zone();
is $zone->{bytes}, 128 * 1024, 'its size';
is_deeply $zone->{windows}, {capacity => $zone->{windows}{capacity}, open => 0, closed => 0, estimated => JSON::PP::false}, 'no windows';
is_deeply $zone->{evicted}, {copy => 0, tokens => 0, local => 0}, 'nothing had to go';
is $zone->{full}, 0, 'all found room';

flood('/wide', 1 .. 300);
wait_until { zone()->{windows}{open} == 300 } what => 'each window';
is zone()->{evicted}{local}, 0, 'none had to go';
flood('/wide', 301 .. 3000);
wait_until { zone()->{windows}{open} > 900 } what => 'a full zone';
$zone = zone();
is $zone->{evicted}{local}, 3000 - $zone->{windows}{open}, 'the others had to go';
is $zone->{full}, 0, 'all found room';

flood('/narrow', map { "n$_" } 1 .. 3000);
wait_until { zone()->{full} > 0 } what => 'windows that find no room: those that are used up do not go';
wait_until { zone()->{windows}{open} > 900 } what => 'a full zone';
# JSON and metrics are of one look where JSON is the same before and after.
my $metrics;
wait_until {
    $zone    = zone();
    $metrics = $nginx->get('/limits/metrics')->body;
    zone()->{windows}{open} == $zone->{windows}{open}
} what => 'one look';
my %value   = $metrics =~ /^nginx_rate_limit_(zone_\S+) (\S+)$/mg;
is $value{'zone_evicted_total{kind="local"}'}, $zone->{evicted}{local}, 'metrics: evicted';
is $value{zone_full_total}, $zone->{full}, 'metrics: full';
is $value{'zone_records{part="windows",state="open"}'}, $zone->{windows}{open}, 'metrics: open';
is sum0(map { $value{qq(zone_records{part="windows",state="$_"})} } qw(open closed free)), $zone->{windows}{capacity}, 'metrics: all records';
is sum0(map { $value{qq(zone_bytes{part="$_"})} } qw(windows waiting counters)), $zone->{bytes}, 'metrics: all bytes';

done;

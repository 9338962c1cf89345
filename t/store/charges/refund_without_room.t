# A refund that finds no room in the zone is dropped, as it cannot wait in its worker, and told as what it is.

use RateLimit::Test;
use RateLimit::WithoutRoom;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { return $conn->hold($request->{uri}, [304, [], '']); });
my $site = RateLimit::WithoutRoom->open(
    server => 'location /late { rate_limit 10r/h name=late mode=charge_refund store=s1; proxy_pass http://' . $backend->address . '; }');
my %late = map { $_ => $site->nginx->reach($backend, "/late/$_?k=late$_") } 1 .. 5;
$site->fill;
for (sort keys %late) {
    $backend->release("/late/$_?k=late$_");
    is $late{$_}->response->status, 304, 'a request that costs nothing';
}
$site->nginx->stop;
my $log = $site->nginx->error_log;
cmp_ok sum0($log =~ /: (\d+) refunds for primary \S+ of "s1" were dropped: no room in "rate_limit_zone"/g), '>', 0, 'they are told as dropped';
unlike $log, qr/charges for .* were dropped/, 'and no charge';

done;

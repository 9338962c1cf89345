# A reload after which nobody looks into the zone any more, because it has another size or there are no limits: what its last worker could not send
# is lost, and told, both what is in the zone and what found no room there.

use RateLimit::Test;
use RateLimit::WithoutRoom;

my %reloads = (
    'another size' => sub ($site) { $site->{zone} = '2m'; $site->nginx->reload(http => $site->http, wait_old => 1) },
    'no limits'    => sub ($site) { $site->nginx->reload(conf => 'worker_processes 1; events {}', wait_old => 1) },
);
for my $reload (sort keys %reloads) {
    my $site = RateLimit::WithoutRoom->open->fill;
    my $in_zone = $site->waiting('s0') + $site->waiting('s1');
    cmp_ok $in_zone, '>', 0, "$reload: some are in the zone";
    $reloads{$reload}->($site);
    is_deeply $site->told_lost, {here => 2200 - $in_zone, zone => $in_zone}, '... all are told as lost';

    $site = RateLimit::WithoutRoom->open->fill->make_room;
    $site->wait_moved;
    $reloads{$reload}->($site);
    is_deeply $site->told_lost, {here => 0, zone => 200}, '... and those that found room';
}

done;

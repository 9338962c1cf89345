# Charges for which the zone had no room wait in the worker, and move into the zone once it has some: a reload, or a worker that is killed, loses none
# of them.

use RateLimit::Test;
use RateLimit::WithoutRoom;

my %ends = (
    'a reload'                => sub ($nginx) { $nginx->reload },
    'a worker that is killed' => sub ($nginx) { $nginx->kill_worker },
);
for my $end (sort keys %ends) {
    my $site = RateLimit::WithoutRoom->open->fill->make_room->wait_moved;
    $ends{$end}->($site->nginx);
    $site->server(1)->restart;
    wait_until { $site->at == 200 } what => "all of them to be charged after $end";
    is $site->at(0), 2000, 'none was lost';
}

done;

# A worker that leaves, and that a request keeps, lets its charges move into the zone, too: they survive its death, and go to the primary that the
# new configuration names, not to the one that this worker knows.

use RateLimit::Test;
use RateLimit::WithoutRoom;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { return $conn->hold($request->{uri}, [200, [], 'late']); });
my sub open_kept () {
    my $site = RateLimit::WithoutRoom->open(server => 'location /slow { rate_limit off; proxy_pass http://' . $backend->address . '; }');
    return ($site, $site->nginx->reach($backend, '/slow'));
}

{
    my ($site, $slow) = open_kept();
    my ($old) = $site->nginx->workers;
    $site->fill->nginx->reload;
    $site->make_room->wait_moved;
    $site->nginx->expect_log(qr/exited on signal 9/);
    CORE::kill KILL => $old;
    wait_until { !$site->nginx->old_workers } what => 'the death of the old worker';
    $site->server(1)->restart;
    wait_until { $site->at == 200 } what => 'all of its charges to arrive after its death';
    $site->nginx->stop;
    is $site->at, 200, 'once';
}
{
    my ($site, $slow) = open_kept();
    my $new = RateLimit::Redis->start;
    $site->fill->nginx->reload(http => $site->http($new));
    $site->make_room;
    wait_until { sum0($new->used_of('default/3600', 1 .. 200)) == 200 } what => 'all of its charges to arrive at the new primary';
    $site->server(1)->restart;
    $backend->release('/slow');
    is $slow->response->status, 200, 'the request ends';
    wait_until { !$site->nginx->old_workers } what => 'the old worker to leave';
    $site->nginx->stop;
    is $site->at, 0, 'the former primary gets none';
    is sum0($new->used_of('default/3600', 1 .. 200)), 200, 'nor does the new one get them twice';
}

done;

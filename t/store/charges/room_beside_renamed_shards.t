# Charges of shards that a reload has renamed stay in the zone, where nobody sends them, and those of the same keys under the new names find no
# place beside them. They keep no other store's charges from moving into a zone that has room.

use RateLimit::Test;
use RateLimit::WithoutRoom;

my @ports = map { free_port() } 1 .. 20;
my sub renamed ($letter) {
    return 'rate_limit_redis renamed { ' . join(' ', map { "shard $letter$_ primary=127.0.0.1:$ports[$_ - 1];" } 1 .. @ports) . ' } ';
}
my $site = RateLimit::WithoutRoom->open(
    between => renamed('a'), server => 'location /renamed { rate_limit 1000r/h; rate_limit_on_error allow; rate_limit_store renamed; }');
is $site->come('/renamed', 300), 300, 'charges wait for shards that are away';
$site->{between} = renamed('b');
$site->nginx->reload(http => $site->http, wait_old => 1);
is $site->come('/renamed', 300), 300, 'and for the same ones under new names';
$site->fill->make_room->wait_moved;
is $site->at(0), 2000, 'what filled the zone has arrived';

done;

# A worker that is stopped again and again gives what it asked before each stop time to be answered, not only every second
# time.

use RateLimit::Test;
use RateLimit::Stall;

my $stall = RateLimit::Stall->start;
for my $uri ('/x', '/reserve') {
    is $stall->outcome($uri), 'PASSED, blamed 0', "$uri, stall $_" for 1 .. 4;
}

done;

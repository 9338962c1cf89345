# The time that a stalled worker gives for answers does not end early because a new request asks Redis meanwhile.

use RateLimit::Test;
use RateLimit::Stall;

my $stall = RateLimit::Stall->start;
for my $uri ('/x', '/reserve') {
    is $stall->outcome($uri, 'new'), 'PASSED PASSED, blamed 0', "$uri, stall $_" for 1 .. 4;
}

done;

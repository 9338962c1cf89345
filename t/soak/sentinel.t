# For a long time faults come upon the servers of a Sentinel and upon nginx: the books balance, and memory and descriptors are flat.

use RateLimit::Test;
use RateLimit::Soak;
use RateLimit::Soak::Sentinel;

RateLimit::Soak->run('RateLimit::Soak::Sentinel');

done;

# For a long time faults come upon the nodes of a Redis Cluster and upon nginx: the books balance, and memory and descriptors are flat.

use RateLimit::Test;
use RateLimit::Soak;
use RateLimit::Soak::Cluster;

RateLimit::Soak->run('RateLimit::Soak::Cluster');

done;

# The near one of two replicas is read; while it is cut off the far one is, and the near one is read again when it is back.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 2);
my ($near, $far) = RateLimit::NearReplica->before(map { $_->port } $shards->replicas);
RateLimit::NearReplica->read(redis_block('main', [$shards->primary, $near, $far], always_checks()), $near, $far);

done;

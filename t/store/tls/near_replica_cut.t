# Over TLS, too, the near replica is read; while it is cut off the far one is, and it is read again when it is back.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $shards    = RateLimit::Shards->start(1, replicas => 2, redis => {tls => $server});
my ($near, $far) = RateLimit::NearReplica->before(map { $_->tls_port } $shards->replicas);
my $tls = "ssl on; ssl_trusted_certificate @{[$authority->file]};";
RateLimit::NearReplica->read(redis_block('main', [$shards->primary, $near, $far], always_checks() . $tls), $near, $far);

done;

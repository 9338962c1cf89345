# The near one of two replicas is read; while it is cut off the far one is, and the near one is read again when it is back; in clear text
# and over TLS.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
for my $tls (undef, $authority->issue('server', 'IP:127.0.0.1')) {
    my $shards = RateLimit::Shards->start(1, replicas => 2, redis => {tls => $tls});
    my ($near, $far) = RateLimit::NearReplica->before(map { $_->tls_port // $_->port } $shards->replicas);
    my $ssl = $tls ? "ssl on; ssl_trusted_certificate @{[$authority->file]};" : '';
    RateLimit::NearReplica->read(redis_block('main', [$shards->primary, $near, $far], always_checks() . $ssl), $near, $far);
}

done;

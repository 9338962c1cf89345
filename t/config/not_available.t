# What is planned but not built is refused as "not available yet", with what to use instead.

use RateLimit::Test;

refuses('rate_limit_redis main { cluster 127.0.0.1:1 127.0.0.1:2; }', 'cluster',
    qr/"cluster" in "rate_limit_redis" is not available yet: remove the line/);

done;

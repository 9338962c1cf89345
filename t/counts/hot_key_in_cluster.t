# The log names the key that is hot for the nodes of one primary of a cluster, and names the primary by its address. A digested key has the id
# that $rate_limit_id has.

use RateLimit::Test;
use RateLimit::HotKeys;

my $cluster = RateLimit::Cluster->start(node_timeout => 10_000, replicas => 0);
my $nginx   = RateLimit::Nginx->start(
    workers => 2, clock => 1,
    http    => $cluster->block('main', 'check_timeout 9s; connect_timeout 9s; key_digest sha256;') . 'keepalive_requests 1000000; add_header X-Id $rate_limit_id; add_header X-Shard $rate_limit_shard;',
    server  => 'location / { rate_limit_key $arg_k; rate_limit_on_error deny; rate_limit 1000000r/h name=api store=main mode=charge_refund; }',
);
wait_until { $nginx->get('/x?k=first')->status == 200 } what => 'the map';
my $hot = RateLimit::HotKeys->new($nginx);
my $id  = $hot->id_of('/x?k=hot');

$hot->flood(24_000, '/x?k=hot' => 6, '/x?k=*' => 4);
$hot->next_minute->wait_lines(1);
my ($line) = $hot->lines;
is_deeply [@$line{qw(limit shard store id)}], ['api', $nginx->get('/x?k=hot')->header('X-Shard'), 'main', $id], 'the primary, and the id';
# One third of the other keys are on this primary.
cmp_ok abs($line->{percent} - 82), '<=', 6, 'its share there';
is scalar($hot->lines), 1, 'of one primary';

done;

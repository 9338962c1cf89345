# What workers of before a reload have sent in the minute counts with what the new ones send; a limit that is configured no more is not named.

use RateLimit::Test;
use RateLimit::HotKeys;

my $shards = RateLimit::Shards->start(1);
my $gone   = 'location /gone { rate_limit_key $arg_k; rate_limit 1000000r/h name=gone store=main mode=charge_refund; }';
my sub server ($more) {
    return "$more location / { rate_limit_key \$arg_k; rate_limit 1000000r/h name=api store=main mode=charge_refund; }";
}
my $nginx = RateLimit::Nginx->start(
    workers => 2, clock => 1, http => $shards->block('main') . 'keepalive_requests 1000000; add_header X-Id $rate_limit_id;', server => server($gone));
my $hot = RateLimit::HotKeys->new($nginx);
my $id  = $hot->id_of('/x?k=hot');

$hot->flood(20_000, '/x?k=hot' => 4, '/gone?k=hot' => 4, '/x?k=*' => 2);
$nginx->reload(server => server(''), wait_old => 1);
$hot->flood(4_000, '/x?k=hot' => 1);
$hot->next_minute->wait_lines(1);
$hot->flood(12_000, '/x?k=second' => 1)->next_minute->wait_lines(2);
my @lines = $hot->lines;
is_deeply [map { $_->{id} } @lines], [$id, $hot->id_of('/x?k=second')], 'the key of the limit that is left';
cmp_ok abs($lines[0]{commands} - 24_000), "<=", 100, 'the commands of old and new workers';
# Of 1,500 commands that are looked at: five deviations.
cmp_ok abs($lines[0]{percent} - 50), '<=', 7, 'its share of them';

done;

# A reload that says that nginx stands in another region: what is remembered of the one is not taken for what is used in the other.

use RateLimit::Test;

my @names     = qw(eu us);
my @primaries = map { RateLimit::Redis->start } @names;
my @replicas  = map { RateLimit::Redis->start(replica_of => $_) } @primaries;

sub http ($here) {
    return 'rate_limit_redis global { '
        . join(' ', map { "region $names[$_] { shard a " . ($_ == $here ? 'primary=' . $primaries[$_]->address : 'replica=' . $replicas[$_]->address) . '; }' } 0, 1)
        . " here $names[$here]; check_timeout 5s; connect_timeout 5s; }";
}

my $server = 'location / { rate_limit_key k; rate_limit 100r/d window=clock store=global; rate_limit_on_error deny; }';
my $nginx  = RateLimit::Nginx->start(http => http(0), server => $server);
is limits($nginx->get('/x'))->{used}, $_, 'a request in eu' for 1 .. 6;
wait_until { ($replicas[0]->used('k', 'default/86400c') // 0) == 6 } what => 'what eu has charged';

$nginx->reload(http => http(1), server => $server);
is limits($nginx->get('/x'))->{used}, 7, 'us adds what eu has, and nothing else';
wait_until { $primaries[1]->used('k', 'default/86400c') == 1 } what => 'the charge in us';
is $primaries[0]->used('k', 'default/86400c'), 6, '... and none more in eu';

done;

# A reload that names the shards in another order changes nothing: what is known of each goes by its name. Old workers go on with it.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start(masters => {map { $_ => {replicas => 1} } qw(a b)});
my ($sentinels) = $set->block('main') =~ /(sentinel .*?;)/;
my sub block (@shards) { return "rate_limit_redis main { $sentinels " . join('', map { "shard $_ master=$_; " } @shards) . 'check_timeout 2s; }' }
my $nginx = RateLimit::Nginx->start(
    workers => 2, http => block(qw(a b)),
    server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_mode charge_refund; rate_limit_on_error deny; add_header X-Shard $rate_limit_shard always;
        location / { rate_limit 1000r/h; }',
);
my %key;
wait_until { $key{$nginx->get("/x?k=$_")->header('X-Shard') // ''} = $_ for 1 .. 20; $key{a} && $key{b} && !grep { $nginx->get("/x?k=$_")->status != 200 } @key{qw(a b)} }
    what => 'both primaries to be found';
my %before = map { $_ => $set->primary($_)->used($key{$_}) } qw(a b);

# Without most of them nothing that is known already can be changed.
my (undef, @others) = $set->sentinels;
$_->kill for @others;
my @idle = map { $nginx->http } qw(a b);
$idle[$_]->send('GET /x?k=' . $key{(qw(a b))[$_]} . " HTTP/1.1\r\nHost: x\r\n") for 0, 1;
$nginx->reload(http => block(qw(b a)));
for my $shard (qw(a b)) {
    is_deeply [map { $nginx->get("/x?k=$key{$shard}")->status } 1 .. 10], [(200) x 10], "requests of shard $shard pass at once";
}
cmp_ok scalar($nginx->old_workers), '>', 0, 'an old worker is still there';
$idle[$_]->send("\r\n") for 0, 1;
is $idle[$_]->response->status, 200, 'and answers' for 0, 1;
for my $shard (qw(a b)) {
    wait_until { ($set->primary($shard)->used($key{$shard}) // 0) >= $before{$shard} + 11 } what => "the charges of shard $shard";
}
is $nginx->count_log(qr/before it was/), 0, 'no shard was taken for another';

done;

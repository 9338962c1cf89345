# A reload after which nobody looks into the zone any more, because it has another size or there are no limits: what its last worker could not send
# is lost, and told.

use RateLimit::Test;

my $windows = 50;
my %reloads = (
    'another size' => sub ($nginx, %site) { $nginx->reload(http => "rate_limit_zone 2m; $site{store}", wait_old => 1) },
    'no limits'    => sub ($nginx, %site) { $nginx->reload(conf => 'worker_processes 1; events {}', wait_old => 1) },
);
for my $reload (sort keys %reloads) {
    my $redis = RateLimit::Redis->start;
    my $store = redis_block('main', $redis);
    my $nginx = RateLimit::Nginx->start(
        http   => "rate_limit_zone 1m; $store",
        server => 'location / { rate_limit_key $arg_k; rate_limit 1000r/h; rate_limit_store main; }',
    );
    is $nginx->get('/x?k=first')->status, 200, "$reload: a connection";
    wait_until { $redis->used('first') == 1 } what => 'its charge';
    $redis->kill;
    my @requests = map { ["/x?k=$_"] } 1 .. $windows;
    is_deeply statuses($nginx->parallel(connections => 2, requests => \@requests)), {200 => $windows}, 'charges wait';
    $reloads{$reload}->($nginx, store => $store);
    is_deeply [$nginx->error_log =~ /former "rate_limit_zone" ends while \d+ charges of (\d+) windows, and refunds of 0, wait there/g], [$windows],
        '... all are told as lost';
}

done;

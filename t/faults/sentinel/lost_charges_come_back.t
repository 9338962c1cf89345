# Row 10 of the fault matrix: an ordered failover loses charges of keys that are charged meanwhile. They are there again once these keys are asked for
# again.

use RateLimit::Test;

my $set   = RateLimit::Sentinels->start(slow => 1);
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => $set->block('main', 'check_timeout 1s;'),
    server  => 'location = /a { alias %%DIR%%/html/x; rate_limit 1000r/h store=main key=$arg_k; }
        location /limits/ { rate_limit_console view; }',
);
my $old = $set->primary;
wait_until { $nginx->get('/a?k=first'); !grep { !$_->used('first') } $set->servers } what => 'all servers to have what nginx writes';

my @keys = (1 .. 40);
my sub used ($server) { return $server->used_of('default/3600', @keys) }

my ($sentinel) = $set->up;
is $sentinel->ask('SENTINEL', 'FAILOVER', 'mymaster'), 'OK', 'a failover is ordered';
wait_until { grep { $_ != $old && $_->role eq 'master' } $set->servers } what => 'a replica to be promoted';
my $failed = grep { $nginx->get("/a?k=$_")->status != 200 } @keys;
is $failed, 0, 'all requests pass meanwhile';
my $new = $set->wait_switched($old);
wait_until { $nginx->waiting('main') == 0 } what => 'nothing to wait';
let_pass 0.5;
my $lost = grep { $_ < 1 } used($new);
diag "$lost of 40 charges were lost";
cmp_ok $lost, '>', 2, 'charges are lost';

$nginx->get("/a?k=$_") for @keys;
wait_until { sum0(used($new)) >= 80 - 2 } what => 'charges to be there again';
let_pass 0.5;
my @used = used($new);
cmp_ok scalar(grep { $_ < 2 } @used), '<=', 2, 'they are there again';
is max(@used), 2, '... and count once';
my ($raised) = $nginx->get('/limits/metrics')->body =~ /^nginx_rate_limit_raised_total\{store="main",shard="mymaster"\} (\d+)$/m;
cmp_ok $raised, '>=', $lost - 2, 'nginx tells how many windows that were';

done;

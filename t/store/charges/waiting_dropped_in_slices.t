# Charges of many windows that closed while their primary was away are given up some at a time, not in one turn of the
# event loop, and all of them are told.

use RateLimit::Test;

my ($windows, $each) = (5000, 50);
my ($replica, $redis) = map { RateLimit::Redis->start } 1, 2;
my $nginx = RateLimit::Nginx->start(
    log_level => 'debug_core',
    http => redis_block('main', [$redis, $replica]),
    server => 'rate_limit_key $arg_k; rate_limit_store main; location / {'
        . join('', map { "rate_limit 99r/6s name=n$_;" } 1 .. $each) . '}',
);
plan skip_all => 'nginx was built without --with-debug' if $nginx->error_log !~ /\[debug\]/;

$redis->kill;
my @requests = map { ["/x?k=$_"] } 1 .. $windows / $each;
is_deeply statuses($nginx->parallel(connections => 2, requests => \@requests)), {200 => scalar @requests},
    'requests pass while the primary is away';
let_pass(7);    # their windows end
$redis->restart;
wait_until { $nginx->error_log =~ /expired: their windows had closed, .*\($windows expired so far\)/ } timeout => 30,
    what => 'all to expire';
my @expired = $nginx->error_log =~ /rate limit: sent \d+ that waited, expired (\d+)/g;
my $sum = sum0(@expired);
is $sum, $windows, 'the turns give up all of them';
is_deeply [grep { $_ > 1000 } @expired], [], 'none drops more than a thousand';
$nginx->stop;

done;

# docs/operations.md, "Sizing": a window, a bucket and slots take as much memory in Redis as the table says, to a fifth.

use RateLimit::Test;

my ($table) = project_file('docs/operations.md') =~ /^<!-- bytes in Redis -->\n(.*?)\n\n/ms or die 'no table';
my ($of, %bytes);
for my $row (split /\n/, $table) {
    my (undef, $key, $with, $bytes) = map { s/^\s+|\s+$//gr } split /\|/, $row;
    next if $bytes !~ /^[\d,]+$/;
    $of = $key if length $key;
    $bytes{$of}{$with =~ /^(\d+)/ ? $1 : 0} = $bytes =~ tr/,//dr;
}
is scalar(keys %bytes), 5, 'the table has five kinds of keys';

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => 'set_real_ip_from 127.0.0.1; real_ip_header X-Client; ' . redis_block('main', $redis) . 'rate_limit_key addr:$rate_limit_addr; rate_limit_store main;',
    server => 'location /window { rate_limit 5000r/h name=core; }
        location /lease { rate_limit 100000r/h name=held mode=lease; }
        location /bucket { rate_limit 10r/s burst=20 name=core; }
        location /bucket-lease { rate_limit 100r/s burst=2000 name=held mode=lease; }',
);
my sub takes ($key, $kind, $with = 0) {
    my $is   = $redis->cmd('MEMORY', 'USAGE', $key, 'SAMPLES', 0);
    my $says = $bytes{$kind}{$with} or return fail("the table has $kind with $with");
    return cmp_ok abs($is - $says), '<=', $says / 5, "$kind, with $with: $says as the table says, $is here";
}

$nginx->get("/$_", 'X-Client' => '203.0.113.7') for qw(window lease lease bucket bucket-lease);    # the second one of a lease takes a batch
wait_until { scalar(my @keys = $redis->keys) == 4 } what => 'four keys';
takes('rl:core/3600:addr:203.0.113.7', 'a window');
takes('rl:held/3600:addr:203.0.113.7', 'a window in `lease`: numbers of calls (`g:`)', 1);
takes("rl:$_/1b:addr:203.0.113.7", 'a bucket, in each mode') for qw(core held);

# The scripts write the windows and slots of many machines.
my %script = map { $_ => $redis->script(project_file("lua/$_.lua")) } qw(reserve refund hold);
my $now    = int(time) * 1000;
my $reset  = $now + 3_600_000;
for my $many (1, 10, 100) {
    my ($window, $slots) = ('rl:core/3600:addr:203.0.113.7', 'rl:core/n:addr:203.0.113.7');
    $redis->flush;
    my @names = map { sprintf '%08x%08x', $_ * 40_503 + 0x40000000, $_ * 65_537 + 0x80000000 } 1 .. $many;
    $redis->ask('EVALSHA', $script{reserve}, 1, $window, 100_000, 50, 1, $now, $reset, $reset, 20, 0, 0, $_, $now * 1000) for @names;
    takes($window, 'a window in `lease`: numbers of calls (`g:`)', $many);
    $redis->ask('EVALSHA', $script{refund}, 1, $window, 1, $reset, '', $_, $now * 1000) for @names;
    is $redis->cmd('HLEN', $window), 2 + 2 * $many, '... and each worker has given back';
    takes($window, 'the same, and numbers of refunds (`r:`)', $many);
    $redis->ask('EVALSHA', $script{hold}, 1, $slots, $_, $now, 100_000, 20, 1, 30_000) for @names;
    takes($slots, 'slots of running requests', $many);
}

done;

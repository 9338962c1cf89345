# A key that is rejected once stays rejected for the time of penalty=, on all machines: in each mode, by windows and by buckets, though the
# window has ended or the bucket is full. Then the limit decides again. A limit that shares the windows and has no penalty does not read it.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my %lines  = (
    (map { ($_ => "2r/2s mode=$_ store=main", "local-$_" => "2r/2s mode=$_") } qw(check_charge charge_refund lease)),
    bucket       => '1r/s burst=2 exempt=off store=main',
    lease_bucket => '1r/s burst=2 exempt=off mode=lease store=main',
    local_bucket => '1r/s burst=2 exempt=off',
);
my sub started () {
    return RateLimit::Nginx->start(
        http   => $shards->block('main', timeouts('9s')) . 'rate_limit_key $http_x_key; add_header X-Penalty $rate_limit_penalty always;',
        server => join '', map { "location /$_ { rate_limit $lines{$_} name=$_ penalty=9s; } location /free-$_ { rate_limit $lines{$_} name=$_; }" } sort keys %lines,
    );
}
my @nginx = map { started() } 1 .. 2;
my sub get ($uri, $nginx = $nginx[0]) { return $nginx->get($uri, 'X-Key' => 'k') }

my (%until, %began);
for my $name (sort keys %lines) {
    my $rejected;
    wait_until { ($rejected = get("/$name"))->status == 429 } what => "a rejection: $name";
    $began{$name} = time;
    $until{$name} = limits($rejected)->{reset};
    is $rejected->header('X-Penalty'), 9, "$name: the penalty begins";
    cmp_ok $rejected->header('Retry-After'), '>=', 8, '... and is what Retry-After says';
}
for my $name (sort keys %lines) {
    wait_until { get("/free-$name")->status == 200 } what => "$name: who does not read it, when the limit has something again";
    next if time >= $until{$name} - 1;    # the machine is too busy to look
    my $rejected = get("/$name");
    is $rejected->status, 429, '... while who does is rejected';
    is limits($rejected)->{reset}, $until{$name}, '... until the same time';
    is limits($rejected)->{remaining}, 0, '... and has nothing';
    my $elsewhere = get("/$name", $nginx[1]);
    next if time >= $until{$name} - 1;
    is $elsewhere->status, $name =~ /local/ ? 200 : 429, '... on the other machine';
}
for my $name (sort keys %lines) {
    wait_until { get("/$name")->status == 200 } what => "$name: the end", within => patience(12);
    cmp_ok time, '>=', $began{$name} + 8, '... not before';
}
my $begun = () = $nginx[0]->error_log =~ /rate limit "[\w-]+" begins a penalty of 9 s, until \d+, id [0-9a-f]{16}/g;
cmp_ok $begun, '>=', scalar keys %lines, 'the log has said each';

done;

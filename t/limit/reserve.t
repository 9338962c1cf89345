# reserve= in nginx: what is charged before the request and at its end, over modes and stores; what the upstream says, or does not; clients
# that leave; exempt statuses; values that are empty or senseless.

use JSON::PP;
use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start(handler => \&RateLimit::Backend::as_asked);
my %line = (
    charge_refund => '100r/h mode=charge_refund',
    lease         => '100r/h mode=lease',
    bucket        => '100r/30d burst=100',
);
my @ways = map { my $line = $_; map { [$line, $_] } qw(local main) } sort keys %line;
my $nginx = RateLimit::Nginx->start(
    up => $backend,
    http => redis_block('main', $redis) . 'rate_limit_key $http_x_key; log_format ends "$http_x_key $status $rate_limit_cost";',
    server => 'access_log %%DIR%%/ends ends;' . join('', map {
        my ($line, $store) = @$_;
        my $limit = "rate_limit $line{$line} name=$line store=$store cost=\$upstream_http_x_cost";
        "location /$line/$store/ { $limit reserve=\$http_x_reserve exempt=500; proxy_pass http://%%UP%%; }
         location /report/$line/$store { $limit; rate_limit_report; }"
    } @ways) . '
        location /sum { rate_limit 100r/h mode=charge_refund "cost=$upstream_http_x_cost*2" reserve=$http_x_reserve/4+10; proxy_pass http://%%UP%%; }
        location /constant { rate_limit 100r/h name=c mode=charge_refund cost=3 reserve=30; proxy_pass http://%%UP%%; }
        location /dry { rate_limit 50r/h name=d mode=charge_refund cost=$upstream_http_x_cost reserve=40 dry_run=on; proxy_pass http://%%UP%%; }
        location /of_end { rate_limit 100000r/h name=e mode=charge_refund cost=$body_bytes_sent reserve=50; proxy_pass http://%%UP%%; }',
);

my $number = 0;
sub ask ($uri, $reserve, $key) { return $nginx->get($uri, 'X-Key' => $key, 'X-Reserve' => $reserve) }
sub ended ($key) { wait_until { grep { /^\Q$key\E / } $nginx->lines('ends') } what => "$key: the end"; return (grep { /^\Q$key\E / } $nginx->lines('ends'))[-1] =~ /(\d+)$/ ? $1 : undef }
sub stored ($line, $store, $key, $used) {
    my $seen;
    wait_until { $seen = decode_json($nginx->get("/report/$line/$store", 'X-Key' => $key)->body)->{rate}{used}; $seen == $used } what => "$line $store $key: $used used";
    return is $seen, $used, "$line, $store, $key: $used used";
}

for (@ways) {
    my ($line, $store) = @$_;
    my $up = "/$line/$store";
    for (['down', 30, '?cost=12', 12], ['up', 30, '?cost=45', 45], ['free', 30, '?cost=0', 0], ['empty', 30, '', 30], ['exempt', 30, '500', 0],
        ['senseless cost', 30, '?cost=x', 30], ['no reserve', '', '?cost=7', 7], ['senseless reserve', '1+1', '', 1]) {
        my ($what, $reserve, $path, $charged) = @$_;
        (my $key = "$line-$store-$what") =~ tr/ /-/;
        my $response = ask("$up/$path", $reserve, $key);
        is $response->status, $path eq '500' ? 500 : 200, "$key: it passes";
        is limits($response)->{used}, ($reserve =~ /^\d+$/ ? $reserve : 1), "$key: headers count the reservation" if $path ne '500';
        is ended($key), $charged, "$key: charged";
        stored($line, $store, $key, $charged);
    }
    my $key = "$line-$store-great";
    is ask("$up/?cost=150", 64_000, $key)->status, 200, "$key: more than the limit counts as the limit";
    is ended($key), 150, "$key: what is above the limit is charged";
    is ask("$up/", 1, $key)->status, 429, "$key: nothing is left";

    $key = "$line-$store-left";
    my $client = $nginx->reach($backend, "$up/slow", 'X-Key' => $key, 'X-Reserve' => 30);
    is ask("$up/", 71, $key)->status, 429, "$key: it counts while the request runs";
    $client->abort;
    is ended("$key 499"), 30, "$key: a client that leaves pays what was reserved";
    stored($line, $store, $key, 30);
    $backend->release('gate');
}

is limits(ask('/sum?cost=21', 41, 'sum'))->{used}, 21, 'a sum';
is ended('sum'), 42, '... and another one';
is limits(ask('/constant', '', 'constant'))->{used}, 30, 'a constant is reserved';
is ended('constant'), 3, '... and another charged';
is limits(ask('/of_end', '', 'of-end'))->{used}, 50, 'a cost that nginx knows at the end';
is ended('of-end'), 7, '... settles it';
ask('/dry?cost=45', '', 'dry');
is ended('dry'), 45, 'a dry run charges what fits';
is ask('/dry?cost=45', '', 'dry')->header('X-RateLimit-Remaining'), 0, '... and what does not passes';
wait_until { (grep { /^dry / } $nginx->lines('ends')) == 2 } what => 'dry: the end';
is ended('dry'), 0, '... and is not charged';
ok $nginx->count_log(qr/invalid reserve "1\+1" of rate limit "$_" in .*:\d+ counts as 1: it is a whole number/), "$_: a senseless one is logged" for keys %line;
ok $nginx->count_log(qr/invalid cost "x" of rate limit "$_" in .*:\d+ leaves what is reserved: it is a whole/), "$_: and a senseless cost" for keys %line;

done;

# A reset on one machine admits its client on another within ten seconds, also where that machine had it at its limit, in every mode of a shared store. What
# is given back is there beyond what tokens other machines hold.

use RateLimit::Test;
use JSON::PP;

my $shards  = RateLimit::Shards->start(1);
my @modes   = qw(check_charge charge_refund lease);
my %conf    = (
    workers => 2, reuseport => 1, http => $shards->block('main') . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; }' . join '', map { "location /$_ { rate_limit 6r/h name=$_ store=main mode=$_; }" } @modes,
);
my ($here, $there) = map { RateLimit::Nginx->start(%conf) } 1 .. 2;
my sub get ($nginx, $mode) { return $nginx->get("/$mode", 'X-Key' => 'a') }

for my $mode (@modes) {
    my $admitted = 0;
    wait_until { my $r = get($here, $mode); $admitted++ if $r->status == 200; $r->status == 429 } what => 'the limit';
    is $admitted, 6, "$mode: up to the limit" if $mode ne 'check_charge';
    wait_until { get($there, $mode)->status == 429 } what => 'the limit on the other machine';
    my $reset = limits(get($there, $mode))->{reset};
    my $response = $here->post('/limits/key', "do=reset&key=a&limit=$mode", 'Content-Type' => 'application/x-www-form-urlencoded');
    is $response->status, 200, 'reset on one';
    my $next = wait_until { my $r = get($there, $mode); $r->status == 200 && $r } timeout => 12, what => 'to be admitted on the other';
    is limits($next)->{reset}, $reset, '... in the same window';
    is get($here, $mode)->status, 200, '... and on the one';
}

done;

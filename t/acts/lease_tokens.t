# A reset makes tokens at hand on this machine count for nothing: the client has the whole limit again, and not one request more, but for those that run and
# for tokens that other machines hold. What was at hand is told as lost.

use RateLimit::Test;
use JSON::PP;

my $shards = RateLimit::Shards->start(1);
my %conf   = (
    workers => 2, reuseport => 1, http => $shards->block('main') . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 200r/h name=core store=main mode=lease; rate_limit_lease 10; }',
);
my $nginx = RateLimit::Nginx->start(%conf);
my @type  = ('Content-Type' => 'application/x-www-form-urlencoded');
my sub post ($body) { return decode_json($nginx->post('/limits/key', $body, @type)->body) }
my sub window () { return post('key=a&limit=core')->{windows}[0] }
my sub lost () { return decode_json($nginx->get('/limits/json')->body)->{stores}[0]{shards}[0]{leases}{lost} }
my sub until_rejected ($from) {
    my $passed = 0;
    $passed++ while $from->get('/x', 'X-Key' => 'a')->status == 200;
    return $passed;
}

$nginx->get('/x', 'X-Key' => 'a') for 1 .. 23;
my $before = window();
cmp_ok $before->{tokens}, '>', 0, 'tokens are at hand';
is $before->{used} - $before->{tokens}, 23, '... which used counts';
my $shown = post('do=reset&key=a&limit=core')->{windows}[0];
is_deeply [@$shown{qw(used tokens remaining)}], [0, 0, 200], 'a reset leaves none';
is lost(), $before->{tokens}, '... and tells that they are lost';
is until_rejected($nginx), 200, 'the whole limit, and no more';
is $shards->used('rl:core/3600:a'), 200, '... by the count of Redis';

my $other = RateLimit::Nginx->start(%conf);
post('do=reset&key=a&limit=core');
wait_until { $other->get('/x', 'X-Key' => 'a')->status == 200 } what => 'the other machine to get tokens';
my ($held) = decode_json($other->post('/limits/key', 'key=a&limit=core', @type)->body)->{windows}[0]{tokens};
cmp_ok $held, '>', 0, 'another machine holds some';
# Stopped, for it would give back what it has not spent for five seconds.
my @theirs = $other->workers;
kill STOP => @theirs;
post('do=reset&key=a&limit=core');
my $passed = until_rejected($nginx);
kill CONT => @theirs;
cmp_ok $passed, '<=', 200, 'here no more than the limit';
my $more = until_rejected($other);
cmp_ok $passed + $more, '<=', 200 + $held, 'beyond the limit at most what the other machine held';
cmp_ok $passed + $more, '>=', 200, '... and all of the limit';

done;

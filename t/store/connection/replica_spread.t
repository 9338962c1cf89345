# Reads are spread over the healthy replicas; one that answers slowly gets less. Those of one turn of the event loop go to one.

use RateLimit::Test;

sub answer ($words, $conn) {
    return hmget(1, (time + 1800) . '000') if $words->[0] eq 'hmget';
    return integer(2)                      if $words->[0] eq 'hincrby';
    return fallback($words);
}
my $primary  = RateLimit::FakeRedis->start(handler => \&answer);
my @replicas = map { RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    my $answer = answer($words, $conn);
    return $words->[0] eq 'hmget' && $conn->state('slow') ? $conn->later(0.5, $answer) : $answer;
}) } 1 .. 3;
my $nginx = RateLimit::Nginx->with_limit('100000r/h', redis_block('main', [$primary, @replicas], always_checks()), key => 'k',
    more => 'location /many { ' . join(' ', map { "rate_limit 9r/h name=$_ store=main;" } 1 .. 12) . ' }');

sub reads () { return map { scalar(() = $_->commands('hmget')) } @replicas }

my $client = $nginx->http;
$client->get('/x') for 1 .. 90;
is_deeply [reads()], [30, 30, 30], 'replicas take turns';
is scalar(() = $primary->commands('hmget')), 0, 'the primary is not read';

for (1 .. 5) {
    $_->forget for @replicas;
    $client->get('/many');
    is_deeply [sort { $a <=> $b } reads()], [0, 0, 12], 'the twelve checks of one request go to one replica';
}

$_->forget for @replicas;
$replicas[0]->set(slow => 1);
my ($requests, $slow, @fast) = (0);
wait_until {
    $nginx->parallel(connections => 6, requests => 600, uri => '/x');
    $requests += 600;
    ($slow, @fast) = reads();
    $fast[0] > 50 && $fast[1] > 50    # one of them may get no processor for a while
} what => 'the others to share the rest', timeout => 60;
is $slow + $fast[0] + $fast[1], $requests, 'one read for each request';
cmp_ok $slow, '<', 0.4 * ($fast[0] + $fast[1]), "the loaded replica gets less ($slow, @fast)";
cmp_ok $slow, '>', 0,   'but something';
pass 'the others share the rest';
my @writes = grep { $_->[0] =~ /^(?:hincrby|eval|evalsha|hset)$/ } map { $_->commands } @replicas;
is_deeply \@writes, [], 'nothing is written to a replica';

done;

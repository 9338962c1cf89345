# A frozen replica costs no request more than a moment: the next node is asked, too. Thawed, it is used again, and frozen once
# more, found out again.

use RateLimit::Test;

my $shards   = RateLimit::Shards->start(1, replicas => 2);
my @replicas = $shards->replicas(0);
my $nginx    = RateLimit::Nginx->with_limit('1000r/h', $shards->block('main', 'fresh off; read_from spread; check_timeout 3s; connect_timeout 3s;'),
    more => 'add_header X-Time $rate_limit_store_time; add_header X-Outcome $rate_limit_status;');
my $name   = quotemeta $replicas[0]->address;
my $client = $nginx->http;

sub requests ($count, $key) { return map { $client->get('/x', 'X-Key' => $key) } 1 .. $count }
sub slow ($seconds, @responses) { return scalar grep { $_->header('X-Time') > $seconds } @responses }
sub passed (@responses) { return scalar grep { $_->header('X-Outcome') eq 'PASSED' } @responses }

sub outage ($round) {
    next_second();    # one line is written in each
    $replicas[0]->freeze;
    my @first = map { requests(1, "k$round") } 1 .. 6;
    is passed(@first), 6, "round $round: all checks are answered";
    is slow(patience(0.9), @first), 0, 'by the next node, soon';
    $nginx->wait_log(qr/(?:replica $name.*no answer in check_timeout.*?){$round}/s);
    my @later = requests(20, "k$round");
    is passed(@later), 20, 'once down';
    is slow(patience(0.9), @later), 0, 'it costs nothing';
    $replicas[0]->thaw;
    $nginx->wait_log(qr/(?:$name of shard "a" of "main" is up again.*?){$round}/s);
    wait_until { $replicas[0]->forget_calls; requests(2, 'again'); $replicas[0]->calls('hmget') } what => 'it to be asked again';
    is slow(patience(0.9), requests(10, 'again')), 0, 'thawed, it is fast';
    # One that a busy machine keeps from running answers later, and is asked less.
    wait_until { $replicas[0]->forget_calls; requests(10, rand); $replicas[0]->calls('hmget') == 5 } what => 'it to take its share';
    return;
}
is passed(requests(4, 'warm')), 4, 'healthy';
outage($_) for 1 .. 2;
is $nginx->count_log(qr/could not be checked/), 0, 'no check failed';

done;

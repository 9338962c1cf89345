# conf-examples/shaping.conf: some requests pass at once, some wait for their turn, in one queue of two machines, and the rest is rejected.

use RateLimit::Test;
use Time::HiRes qw(sleep);

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my @nginx  = map { start_example('shaping', shards => $shards, app => $app, replace => {'/var/log/nginx/shaping.log' => '%%DIR%%/shaping'}) } 1, 2;

# Returns the lines about this location in the logs of both machines, once there are so many.
sub ends ($uri, $count) {
    my $lines = wait_until { my @all = grep { /"GET \Q$uri\E HTTP/ } map { $_->lines('shaping') } @nginx; @all == $count && \@all } what => 'the log';
    return map { [/" (\d+) decision=(\S+) delayed=(\S+) store_time=/] } @$lines;
}

my @clients = map { $nginx[$_ % 2]->begin('/x') } 1 .. 12;
my @statuses = map { $_->response->status } @clients;
is_deeply \@statuses, [(200) x 12], 'twelve pass, of two machines';
my @waits = sort { $a <=> $b } map { $_->[2] } ends('/x', 12);
is_deeply [@waits[0 .. 7]], [('0.000') x 8], '... eight at once';
cmp_ok $waits[11], '>', 0, '... and the last after a wait';

my @reports = map { my $client = $nginx[$_ % 2]->begin('/reports/x'); sleep 0.02; $client } 1 .. 6;
my ($rejected) = grep { $_->response->status == 429 } pop @reports;
ok $rejected, 'a sixth report is rejected at once';
is_deeply [map { $_->response->status } @reports], [(200) x 5], '... and five come one after another';
my @turns = sort { $a <=> $b } map { $_->[2] } grep { $_->[0] == 200 } ends('/reports/x', 6);
cmp_ok abs($turns[4] - 4), '<', 0.5, '... the last four seconds later' or diag "@turns";

done;

# Slots of running requests and token buckets over failovers: of slots what runs is held at the new primary again within half the time that they last,
# also where the last writes are lost, and from then on the count is right; a bucket goes on from where it was.

use RateLimit::Test;

my $set     = RateLimit::Sentinels->start;
my $backend = RateLimit::Backend->start;
my @nginx   = map {
    RateLimit::Nginx->start(
        up => $backend, http => $set->block('main') . 'rate_limit_on_error deny;',
        server => 'location / { rate_limit_concurrency 4 key=$arg_k store=main; proxy_pass http://%%UP%%; }
            location /bucket { alias %%DIR%%/html/x; rate_limit 1r/h burst=10 key=$arg_k store=main; }',
    )
} 1 .. 2;
sub held () { return join ' ', sort map { /^(\d+) / } values %{$set->primary->hash('rl:concurrency/n:a')} }

wait_until { $_->get('/?k=first')->status == 200 } timeout => 20, what => 'the sentinels to be asked' for @nginx;
my @open = ((map { $nginx[0]->reach($backend, '/slow?k=a') } 1 .. 3), $nginx[1]->reach($backend, '/slow?k=a'));
is held(), '1 3', 'four run';
is $nginx[$_ % 2]->get('/bucket?k=b')->status, 200, 'a token' for 1 .. 6;

my $old = $set->primary;
wait_until { $_->cmd('EXISTS', 'rl:concurrency/n:a') } what => 'the replicas' for $set->replicas;
my $new = $set->failover;
isnt $new, $old, 'another primary';
$new->cmd('DEL', 'rl:concurrency/n:a');    # what a replica had not got yet
wait_until { held() eq '1 3' } timeout => 25, what => 'both machines to say what they hold';
is $_->get('/?k=a')->status, 429, 'no more are let in' for @nginx;
$backend->release('gate');
is $_->response->status, 200 for @open;
wait_until { $_->get('/?k=a')->status == 200 } timeout => 20, what => 'a slot' for @nginx;
wait_until { held() !~ /[1-9]/ } timeout => 20, what => 'all to go back';

is $nginx[$_ % 2]->get('/bucket?k=b')->status, 200, 'another token' for 1 .. 4;
is $_->get('/bucket?k=b')->status, 429, 'there were ten' for @nginx;

done;

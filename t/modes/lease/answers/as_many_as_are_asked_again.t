# Of each store a worker keeps 10,000 batches that were not answered, to ask what became of them: it looks at all of these in one turn. Of what is
# more it says that it is in doubt.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    return $answer if $words->[0] ne 'evalsha' || $words->[3] !~ /:lost/;
    return $words->[5] == 0 ? error('ERR later') : $conn->hold('gate', $answer);    # 0: what has become of it
}));
my $nginx = RateLimit::Nginx->start(
    events => 'worker_connections 8192;',
    http   => redis_block('main', $relay, timeouts('300s')) . 'rate_limit_zone 100m;',
    server => 'location / { rate_limit_key $arg_k; rate_limit 1000r/h store=main mode=lease; rate_limit_lease 10; rate_limit_on_error deny; }',
);
my sub doubts () { return $nginx->count_log(qr/reservations for primary .* in doubt/) }

my ($each, $lost) = (2500, 0);
my sub lose ($times) {
    for (1 .. $times) {
        # It answers thousands of questions before this one.
        wait_until { (eval { $nginx->get("/x?k=answered$lost")->status } // 0) == 200 } what => 'the primary', timeout => 300;
        my @new     = map { 'lost' . ++$lost } 1 .. $each;
        my %new     = map { $_ => 1 } @new;
        my @waiting = map { $nginx->begin("/x?k=$_") } @new;
        wait_until {
            let_pass(0.2);    # all that was written down is read each time
            delete @new{map { $_->[3] =~ s/.*://r } grep { @$_ > 3 } $relay->commands('evalsha')};
            !%new
        } what => 'the batches to be asked for', timeout => 300;
        $relay->drop(1);
        is_deeply statuses(map { $_->response } @waiting), {503 => $each}, "$lost are lost";
        $relay->forget;
    }
}
lose(10_000 / $each);
is doubts(), 0, '10000 are asked for again';
lose(1);
wait_until { doubts() } what => 'doubt';
pass '... and not all of those after them';
$nginx->kill;

done;

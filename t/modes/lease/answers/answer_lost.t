# A batch whose answer is lost is asked for again, and Redis tells what it was granted: where each batch's first answer, and that of
# each refund, is cut off after Redis has executed the command, what Redis counts is what passed, exactly.

use RateLimit::Test;

# Scripts with a number, by how many words a call has.
my %numbered = (15 => 'batch', 9 => 'refund');
my %seen;
my $redis = RateLimit::Redis->start;
my $relay = RateLimit::FakeRedis->start(handler => relaying($redis, sub ($words, $conn, $answer) {
    my $name = $words->[0] =~ /^eval/ && $numbered{@$words} or return $answer;
    return $seen{"$name $words->[3] @$words[-2, -1]"}++ ? $answer : $conn->cut(1);
}));
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $relay, timeouts('9s')) . 'rate_limit_mode lease; rate_limit_store main; rate_limit_key $http_x_key;
        rate_limit_cost $http_x_cost; rate_limit_on_error deny; add_header X-Outcome $rate_limit_status always;',
    server => 'location /auto { rate_limit 2000r/h name=auto; }
        location /fixed { rate_limit 2000r/h name=fixed; rate_limit_lease 20; }
        location /clock { rate_limit 2000r/h name=clock window=clock; rate_limit_lease 20; }',
);

my (%passed, %denied);
for my $n (0 .. 149) {
    for my $name (qw(auto fixed clock)) {
        my $cost = 1 + $n % 3;
        wait_until {
            my $outcome = outcome($nginx->get("/$name", 'X-Key' => 'k', 'X-Cost' => $cost));
            $denied{$name}++ if $outcome eq '503 ERROR_DENIED';
            $outcome eq '200 PASSED'
        } what => 'a request to pass';
        $passed{$name} += $cost;
    }
}
# How many batches `auto` needs depends on how fast requests come; its first is lost always.
my %least = (auto => 1, fixed => 10, clock => 10);
cmp_ok $denied{$_}, '>=', $least{$_}, "$_: the answers that were lost were missed" for sort keys %least;
my sub cut ($words) { return grep { @$_ == $words } $relay->commands('evalsha') }
cmp_ok scalar(cut(15)), '>', 60, 'batches were asked for, and asked for again';
$nginx->stop(graceful => 1);
is_deeply {map { $_ => $redis->used('k', $_ eq 'clock' ? 'clock/3600c' : "$_/3600") } keys %passed}, \%passed, 'what passed is what is stored';
cmp_ok scalar(cut(9)), '>', 1, '... after what was left has gone back';
is $nginx->count_log(qr/doubt/), 0, 'nothing was in doubt';

done;

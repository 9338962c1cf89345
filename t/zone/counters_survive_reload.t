# Counts go on over reloads, also of a store that is away for one of them. With another size of the zone they begin anew.

use RateLimit::Test;

my $lost  = taking(sub (@) { error('WRONGTYPE wrong kind of value') });
my %redis = map { $_ => RateLimit::FakeRedis->start(handler => $lost) } qw(first second third);

sub configuration (@stores) {
    return (
        http   => join('', map { redis_block($_, $redis{$_}, timeouts('1h')) } @stores),
        server => join("\n", 'rate_limit_key $http_x_key; location / {}',
            map { "location /$_ { rate_limit 1000r/365d store=$_; }" } @stores),
    );
}
# nginx's clocks run faster, and so do all of its timeouts.
my $nginx = RateLimit::Nginx->start(speed => 60, workers => 2, configuration(qw(first second)));

# A request without a key only wakes nginx up, whatever becomes of its timers under a faster clock.
sub wait_line ($store, $charges, $what) {
    my $line = qr/counters of "$store" since (\S+ \S+): .*, $charges dropped, .*: wrongtype $charges$/m;
    my $since;
    wait_until { $nginx->get('/'); my $log = $nginx->error_log; ($since) = $log =~ /.*$line/s } timeout => 20,
        what => "a line: $charges dropped for $store";
    pass $what;
    return $since;
}
sub lose ($store, $charges) { $nginx->get("/$store", 'X-Key' => 'k') for 1 .. $charges; return }

lose('first',  3);
lose('second', 4);
my $since = wait_line('first', 3, 'one store');
wait_line('second', 4, 'another store');

$nginx->reload(wait_old => 1);
lose('first', 1);
is wait_line('first', 4, 'after a reload it goes on'), $since, 'since the same time';

$nginx->reload(configuration(qw(third second)), wait_old => 1);
lose('second', 1);
lose('third',  2);
wait_line('second', 5, 'the other store goes on beside a new one');
wait_line('third', 2, 'which begins at 0');

$nginx->reload(configuration(qw(second first)), wait_old => 1);
lose('first', 1);
wait_line('first', 5, 'a store that comes back goes on');

my %smaller = configuration('first');
$nginx->reload(%smaller, http => "rate_limit_zone 128k; $smaller{http}", wait_old => 1);
lose('first', 1);
isnt wait_line('first', 1, 'another zone begins at 0'), $since, 'since another time';

done;

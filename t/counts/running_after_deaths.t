# The running requests of a killed worker are not counted any more, and nothing is counted twice. Those of workers of former configurations are counted, whatever
# the present configuration has of their limit.

use RateLimit::Test;
use JSON::PP;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my sub server (@names) {
    return 'rate_limit_key $arg_k; location /limits/ { rate_limit_console view; }' . join '',
        map { "location /$_ { rate_limit_concurrency 50 name=$_ store=" . (/^r/ ? 'main' : 'local') . '; proxy_pass http://%%UP%%$request_uri&worker=$pid; }' } @names;
}
my $nginx = RateLimit::Nginx->start(up => $backend, workers => 3, reuseport => 1, http => redis_block('main', $redis), server => server(qw(here redis)));
my sub told () { return {map { $_->{name} => $_->{running} } @{decode_json($nginx->get('/limits/json')->body)->{limits}}} }
my sub reach (@names) {
    return map { my $name = $_; map { $nginx->reach($backend, "/$name/slow?k=$_") } 1 .. 12 } @names;
}
my sub workers () {
    my %runs;
    for my $request ($backend->requests) { $runs{$2}{$1}++ if $request->[1] =~ m{^/(\w+)/slow.*worker=(\d+)} }
    return \%runs;
}

my @first = reach(qw(here redis));
is_deeply told(), {here => 12, redis => 12}, 'what runs';
my $runs = workers();
my ($killed) = sort { keys %{$runs->{$b}} <=> keys %{$runs->{$a}} || $a <=> $b } keys %$runs;
my %left = map { $_ => 12 - ($runs->{$killed}{$_} // 0) } qw(here redis);
$nginx->kill_worker($killed);
wait_until { my $told = told(); !grep { $told->{$_} != $left{$_} } keys %left } timeout => 5, what => "$left{here} and $left{redis} to run after one of three workers was killed";

my @more = reach(qw(here));
$left{here} += 12;
is_deeply told(), \%left, 'the new worker counts from nothing' for 1 .. 3;

$nginx->reload(server => server(qw(redis other)));
is_deeply told(), {redis => $left{redis}, other => 0}, 'old workers count; what is not configured is not shown';
my @other = reach(qw(other));
is told()->{other}, 12, 'nor is it what counts for a new one';
$nginx->reload(server => server(qw(here redis other)));
is_deeply told(), {%left, other => 12}, 'and it is there when it comes back';

my ($old) = sort { ($runs->{$b}{here} // 0) <=> ($runs->{$a}{here} // 0) } grep { $_ != $killed } keys %$runs;
my $now = workers();
$nginx->expect_log(qr/worker process $old exited on signal 9/);
kill KILL => $old;
$left{$_} -= $now->{$old}{$_} // 0 for qw(here redis);
wait_until { my $told = told(); !grep { $told->{$_} != $left{$_} } keys %left } timeout => 5, what => 'an old worker that was killed';

$backend->release('gate');
wait_until { !grep { $_ } values %{told()} } what => 'the end of all';

done;

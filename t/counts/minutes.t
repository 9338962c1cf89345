# The JSON page has the last hour of each limit by minutes, the oldest first: what the workers together have counted. What is counted where no minute's
# begin was seen belongs to the minute before. Reloads and killed workers lose nothing.

use RateLimit::Test;
use JSON::PP;

my $gone = free_port();
my sub server (@names) {
    return 'rate_limit_key $http_x_key; location /limits/ { rate_limit_console view; }'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_; }" } @names)
        . ' location /probe { rate_limit 1000000r/d name=probe; }
            location /few { rate_limit 1r/d name=few; } location /dry { rate_limit 1r/d name=dry dry_run=on; }
            location /error { rate_limit 1r/d name=error store=gone; }';
}
my $http  = "rate_limit_redis gone { shard a primary=127.0.0.1:$gone; }";
my $nginx = RateLimit::Nginx->start(workers => 2, clock => 1, reuseport => 1, http => $http, server => server(qw(a b)));
my sub page () { return decode_json($nginx->get('/limits/json')->body) }
my sub minutes ($name) { return [map { @{$_->{minutes}} } grep { $_->{name} eq $name } @{page()->{limits}}] }

# Returns the counts of passed requests, from the first minute in which one passed.
my sub passed ($name) {
    my @passed = map { $_->{passed} } @{minutes($name)};
    shift @passed while @passed && !$passed[0];
    return [@passed];
}
my sub ask ($name, $count) { return map { $nginx->get("/$name", 'X-Key' => 'k')->status } 1 .. $count }

# Goes to ten seconds after the begin of that minute, so that nothing here takes until the next, and waits until a worker has seen it: then what is
# counted belongs to it.
my $begin = 60 * ceil(time / 60) + 3600;
my sub at ($minute) {
    $nginx->travel('+' . ($begin + 60 * $minute + 10 - time));
    return wait_until { ask('probe', 1) && int(page()->{time} / 60) == $begin / 60 + $minute && minutes('probe')->[-1]{passed} } what => "minute $minute";
}

at(0);
ask($_, 4) for qw(few dry error);
ask('a', 3);
my $none = {passed => 0, rejected => 0, rejected_dry_run => 0, errors => 0};
my sub running ($name) { return minutes($name)->[-1] }
is @{minutes('a')}, 60, 'an hour';
is_deeply [@{minutes('a')}[0 .. 58]], [($none) x 59], 'in which nothing was';
is_deeply running('a'),     {%$none, passed => 3}, 'but in the running minute';
is_deeply running('few'),   {%$none, passed => 1, rejected => 3}, 'rejected';
is_deeply running('dry'),   {%$none, passed => 1, rejected_dry_run => 3}, 'in a dry run';
is_deeply running('error'), {%$none, errors => 4}, 'errors';
is_deeply running('b'),     $none, 'each limit by itself';

at(1);
is_deeply passed('a'), [3, 0], 'a new minute';
ask('a', 4);
at(2);
ask('a', 5);
is_deeply passed('a'), [3, 4, 5], 'and another';
at(6);
is_deeply passed('a'), [3, 4, 5, 0, 0, 0, 0], 'the clock jumps';
ask('a', 1);
is_deeply passed('a'), [3, 4, 5, 0, 0, 0, 1], '... and goes on';

$nginx->reload(server => server(qw(a c)), wait_old => 1);
is_deeply passed('a'), [3, 4, 5, 0, 0, 0, 1], 'a reload changes nothing';
is_deeply passed('c'), [], 'a renamed limit begins anew';
ask('c', 2);
$nginx->kill_worker for 1 .. 2;
at(7);
ask($_, 2) for qw(a c);
is_deeply passed('a'), [3, 4, 5, 0, 0, 0, 1, 2], 'nor do killed workers';
is_deeply passed('c'), [2, 2], '... of new limits neither';
my $read = passed('a');
page() for 1 .. 20;
is_deeply passed('a'), $read, 'nor does reading';
my $small = RateLimit::Nginx->start(http => "rate_limit_zone 256k; $http", server => server(map { "l$_" } 1 .. 6));
my @limits = @{decode_json($small->get('/limits/json')->body)->{limits}};
my %lengths;
$lengths{scalar @{$_->{minutes}}}++ for @limits;
is_deeply [sort keys %lengths], [0, 60], 'in a small zone only some limits have their hour';

done;

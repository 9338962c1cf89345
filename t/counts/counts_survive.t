# With one, two or four workers counts never go back, and are never less than what clients have seen: over 100 reloads under load, killed workers, and a limit that a configuration does
# not have for a while. A limit that is not configured is not shown.
# nightly

use RateLimit::Test;
use JSON::PP;

my sub server (@names) {
    return 'keepalive_requests 1000000; rate_limit_key $arg_k; location /limits/ { rate_limit_console view; }'
        . join('', map { " location /$_ { rate_limit 1000000r/d name=$_; }" } @names);
}
for my $case ([1 => 33], [2 => 34], [4 => 33]) {
    my ($workers, $reloads) = @$case;
    my $nginx = RateLimit::Nginx->start(workers => $workers, server => server(qw(a b)));
    my sub page () { return decode_json($nginx->get('/limits/json')->body) }
    my sub passed ($name) {
        my ($limit) = grep { $_->{name} eq $name } @{page()->{limits}};
        return $limit && $limit->{decisions}{passed};
    }

    $nginx->get('/b?k=x') for 1 .. 7;
    is passed('b'), 7, "$workers: a limit that decided";
    my $since = page()->{since};

    # Clients that note each response before they send the next request.
    my @clients = map {
        my $file = test_folder() . "/passed-$workers-$_";
        write_text($file, 0);
        my $process = RateLimit::Process->start(name => 'client', run => sub {
            my $passed = 0;
            while (!-e "$file.end") {
                $passed++ if $nginx->get('/a?k=1')->status == 200;
                write_text("$file.new", $passed);
                rename "$file.new", $file;
            }
        });
        {file => $file, process => $process}
    } 1 .. 2;
    my sub noted () { return sum0 map { read_text($_->{file}) } @clients }
    my @seen = (0);
    for my $round (1 .. $reloads) {
        $nginx->reload(server => server($round % 2 ? qw(a c) : qw(a b c)));
        my $noted = noted();
        push @seen, passed('a');
        cmp_ok $seen[-1], '>=', $noted, 'the count is not less than what clients have seen';
        is passed('b'), $round % 2 ? undef : 7, $round % 2 ? 'a limit that is not configured is not shown' : 'and goes on from its count';
    }
    write_text("$_->{file}.end", '') for @clients;
    $_->{process}->wait(30) for @clients;
    my $requests = noted();
    cmp_ok $requests, '>', 100, 'clients were busy';
    wait_until { passed('a') == $requests } what => 'each response to be counted once';
    is_deeply [sort { $a <=> $b } @seen], \@seen, 'the count never goes back';
    is page()->{since}, $since, 'since the same time';

    $nginx->get('/a?k=x') for 1 .. 10;
    $nginx->kill_worker;
    $nginx->expect_log(qr/exited on signal 9/);
    cmp_ok passed('a'), '>=', $requests + 10, 'nor when a worker is killed';
    $nginx->get('/a?k=x') for 1 .. 10;
    is passed('a'), $requests + 20, 'its successor goes on';
    is page()->{requests}{passed}, $requests + 27, 'requests, too';
    $nginx->stop;
}

done;

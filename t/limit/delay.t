# delay=: what is above so many tokens of a bucket waits for its turn, on one machine and in Redis, in the access and the precontent phase; and what a
# client sees of it that stays, or leaves.

use RateLimit::Test;
use JSON::PP;
use Time::HiRes qw(sleep);

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . '
        log_format ends "$status $rate_limit_status $rate_limit_delayed $request_time $arg_k $arg_n";
        rate_limit_key $arg_k; rate_limit_headers github;',
    server => 'access_log %%DIR%%/ends ends; location /limits/ { rate_limit_console manage; access_log off; }
        location /local/ { alias %%DIR%%/html/; rate_limit 1r/s burst=4 delay=all exempt=off; }
        location /redis/ { alias %%DIR%%/html/; rate_limit 1r/s burst=4 delay=all exempt=off store=main; }
        location /late/ { alias %%DIR%%/html/; rate_limit 1r/s burst=4 delay=all name=late phase=precontent; }
        location /both/ { alias %%DIR%%/html/; rate_limit 1r/s burst=4 delay=all name=both; rate_limit 1r/s burst=4 delay=all name=after phase=precontent; }
        location /any/ { alias %%DIR%%/html/; satisfy any; allow all; rate_limit 1r/s burst=4 delay=all name=any; }
        location /slow/ { alias %%DIR%%/html/; rate_limit 1r/s burst=4 delay=all name=slow; }
        location /free/ { alias %%DIR%%/html/; rate_limit off; }');

# So many requests of a key at once. Their lines in the log, in the order in which they ended.
sub wave ($place, $key, $count) {
    my $before = () = $nginx->lines('ends');
    my @all = $nginx->parallel(connections => $count, requests => [map { ["/$place/x?k=$key&n=$_"] } 1 .. $count]);
    my @lines = wait_until { my @now = $nginx->lines('ends'); @now == $before + $count && [@now[$before .. $#now]] } what => 'the log';
    return map { [split / /] } @{$lines[0]};
}

# Its client leaves; until that is in the log.
sub leave ($client, $who) {
    my $gone = sub { scalar grep { /^499 PASSED \d\.\d+ .* $who$/ } $nginx->lines('ends') };
    my $before = $gone->();
    $client->abort;
    wait_until { $gone->() > $before } what => "the end of $who";
}

for my $place (qw(local redis late any)) {
    my @ends = wave($place, 'a', 6);
    is_deeply [sort map { "$_->[0] $_->[1]" } @ends], [('200 PASSED') x 4, ('429 REJECTED') x 2], "/$place/: four pass, two are rejected";
    my @passed = grep { $_->[0] == 200 } @ends;
    is_deeply [map { $_->[2] } grep { $_->[0] == 429 } @ends], [('0.000') x 2], '... these at once';
    my @planned = map { $_->[2] } @passed;
    is_deeply [sort { $a <=> $b } @planned], \@planned, '... and the others in the order of their turns' or diag "@planned";
    is $planned[0], '0.000', '... of which the first is at once';
    cmp_ok abs($planned[$_] - $planned[$_ - 1] - 1), '<', 0.8, '... and each a second later than the one before' for 1 .. 3;
    cmp_ok $_->[3] + 0.002, '>=', $_->[2], "... none went on before $_->[2]" for @passed;
}
my @both = wave('both', 'a', 2);
is_deeply [map { $_->[1] } @both], ['PASSED', 'PASSED'], 'a wait in each phase';
cmp_ok $both[1][2], '>', 0, '... of which the variable tells the sum';

# A client that leaves while it waits gives its place back, if that is the last.
is $nginx->get('/slow/x?k=c')->status, 200, 'one passes';
my @waiting = map { my $client = $nginx->begin("/slow/x?k=c&n=$_"); sleep 0.05; $client } 1 .. 3;
is $nginx->get('/slow/x?k=c')->status, 429, '... three wait, and there is no place left';
leave($waiting[2], 'c 3');
my $next = $nginx->begin('/slow/x?k=c&n=4');
is $nginx->get('/slow/x?k=c')->status, 429, '... the last leaves, and another takes its place';
leave($waiting[0], 'c 1');
is $nginx->get('/slow/x?k=c')->status, 429, '... the first leaves, and nobody does';
is $_->response->status, 200, '... the others go on' for $waiting[1], $next;

# A reload lets them finish.
my $old = $nginx->begin('/slow/x?k=r&n=0');
is $old->response->status, 200, 'one passes';
$old = $nginx->begin('/slow/x?k=r&n=1');
sleep 0.1;
$nginx->reload;
is $old->response->status, 200, 'a request that waits goes on with its old worker';

my $figures = decode_figures($nginx->get('/limits/json')->body);
is $figures->{local}{default}{delayed}, 3, 'requests that waited are counted' or diag explain $figures;
cmp_ok $figures->{local}{default}{delayed_seconds}, '>', 0.3, '... with how long';
like $nginx->get('/limits/metrics')->body, qr/^nginx_rate_limit_delayed_total\{limit="default",store="main"\} 3$/m, '... also for Prometheus';

sub decode_figures ($text) {
    my %told;
    $told{$_->{store}}{$_->{name}} = $_ for @{JSON::PP::decode_json($text)->{limits}};
    return \%told;
}

done;

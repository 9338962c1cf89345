# A primary with two replicas that takes writes without any is warned about once, with the remedy. One replica alone is not: with the remedy
# the loss of either server would stop all charges.

use RateLimit::Test;

sub warnings_of ($replicas, $setting) {
    my $set = RateLimit::Sentinels->start(masters => {mymaster => {replicas => $replicas}}, redis => {args => ['--min-replicas-to-write', $setting]});
    my $nginx = RateLimit::Nginx->start(workers => 2, http => $set->block('main'),
        server => 'location / { rate_limit_key $arg_k; rate_limit 1000r/h store=main mode=charge_refund; rate_limit_on_error deny; }');
    wait_until { 20 == grep { $nginx->get("/?k=$_")->status == 200 } 1 .. 20 } what => 'all to be charged';
    return map { $_->stop; grep { /takes writes without replicas/ } split /\n/, $_->error_log } $nginx;
}

is_deeply [warnings_of(1, 0)], [], 'one replica';
is_deeply [warnings_of(2, 1)], [], 'two, and min-replicas-to-write 1';
my ($line, @more) = warnings_of(2, 0);
like $line, qr/\[warn\].*when it is cut off from all of its 2, .*; set min-replicas-to-write 1 and min-replicas-max-lag 10$/, 'two, and no setting';
is_deeply \@more, [], 'once';

done;

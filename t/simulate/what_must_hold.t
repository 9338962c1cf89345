# Runs of the simulator in which something did not hold that must hold are told; modes that real machines have not confirmed are not shown.

use lib 'bench/lib';
use RateLimit::Test;
use Bench::Simulated;

my %cell = (
    cell => 0, name => '10 machines', machines => 10, limit => 1000, period => 60, load => 2, requests => 1000, busiest => 1, least => 0.1,
    lag_ms => 1, response_ms => 17, cut => 0, keys => 1, faults => 0);
my @ways = @Bench::Simulated::ways;

sub simulated ($way, $run, %more) {
    my %run = (
        way => $way, seed => 3, most_over => -1, in_doubt => 0, reached => 1, most_unspent_then => 0, unspent_at_last => 0, longest_unspent_ms => 0,
        unfair => 0, rejected => 1000, requests_until => 1000, requests_after => 1000, %$run);
    for my $command (qw(checks_replica checks_primary increments charges repairs refunds reserves)) {
        $run{"${command}_$_"} //= 0 for qw(until after);
    }
    my $simulated = Bench::Simulated->new(cells => [{%cell, %{$more{cell} // {}}}], published => $more{published} // \@ways, short => $more{short});
    $simulated->add(0, \%run);
    return $simulated;
}

sub broken     { return scalar(my @all = simulated(@_)->broken) }
sub unexpected { return scalar(my @all = simulated(@_)->unexpected) }

for my $way (qw(charge_refund lease)) {
    is broken($way, {most_over => 0}), 0, "$way: the limit";
    is broken($way, {most_over => 1}), 1, "$way: one more";
    is broken($way, {most_over => 1}, cell => {faults => 1}), 1, "$way: one more, while something fails";
}

# Others send 900 a second, for 20 ms; and there are ten machines.
for my $way (qw(check_charge check_charge-fresh-off)) {
    is broken($way, {most_over => 28}), 0, "$way: what others send meanwhile";
    is broken($way, {most_over => 29}), 1, "$way: more than that";
    is broken($way, {most_over => 28, in_doubt => 1}), 1, "$way: what nobody knows of counts";
    is broken($way, {most_over => 29}, cell => {faults => 1}), 0, "$way: while something fails, it may be more";
}
is unexpected('lease', {most_unspent_then => 10}), 0, 'lease: 1% elsewhere, on ten machines';
is unexpected('lease', {most_unspent_then => 11}), 1, 'lease: more';
is unexpected('lease', {most_unspent_then => 100}, cell => {machines => 100}), 0, 'lease: 10% elsewhere, on a hundred';
is unexpected('lease', {most_unspent_then => 101}, cell => {machines => 100}), 1, 'lease: more';
is unexpected('lease', {most_unspent_then => 101}, short => 1), 0, 'which short runs do not tell';
is broken('lease', {most_unspent_then => 101}), 0, 'nor is a run broken by it';
is broken('lease', {most_over => 1}, short => 1), 1, 'but that they pass the limit';
like join('', simulated('lease', {most_over => 2})->broken), qr/\bcell 0\b.*\blease\b.*\bby 2\b.*\bseed 3\b/, 'told with its cell, its mode and its seed';

my $shown = simulated('lease', {reserves_until => 50});
like $shown->text, qr/^\|.*`lease` \|\n.*\n.*\| 0\.05\d* \/ 0 \|$/m, 'calls a request';
like $shown->calls_drawing, qr/simulated, calibrated at 8/, 'a drawing says what its figures are';
like simulated('lease', {reserves_until => 50}, short => 1)->text, qr/simulated, not calibrated/, 'also in a short run, which nothing confirms';
my @others = grep { $_ ne 'lease' } @ways;
my $hidden = simulated('lease', {reserves_until => 50}, published => \@others);
unlike $hidden->text, qr/`lease`/, 'a mode that is not confirmed is not shown';
like join('', $hidden->broken), qr/\blease\b.*\bnot published\b/, 'and that is told';

done;

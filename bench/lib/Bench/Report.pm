package Bench::Report;

# The run's figures as Markdown.
#
#   Bench::Report->new(rows => [...], measured => {CONNECTIONS => {ROW => [{rate, nginx, primary, ...}, ...]}},
#       syscalls => {CONNECTIONS => {ROW => [NGINX, REDIS]}}, rate => N, latency => {ROW => {p50 => [...]}},
#       pairs => [{of, to, most, figure, ratios => [...]}, ...], pair_connections => N,
#       charges => [{row, after, admitted, stored}, ...], setting => TEXT)->text(CONNECTIONS, ...)

use strict;
use warnings;
use utf8;
use feature 'signatures';

use POSIX ();
use Bench::Figures;
use RateLimit::Folder;
use RateLimit::Nginx;

sub new ($class, %self) { return bless \%self, $class }

sub text ($self, @connections) {
    my @parts = ($self->machine, map { $self->throughput($_) } @connections);
    push @parts, $self->fixed_rate if $self->{rate};
    push @parts, $self->comparisons if @{$self->{pairs}};
    return join "\n", @parts, $self->charges;
}

sub machine ($self) {
    my $processors = read_text('/proc/cpuinfo');
    my ($model)    = $processors =~ /^model name\s*:\s*(.*)/m;
    my $cores      = () = $processors =~ /^processor\s*:/mg;
    my ($nginx)    = qx{'${\RateLimit::Nginx::binary()}' -v 2>&1} =~ m{nginx/(\S+)};
    my ($redis)    = qx{redis-server --version} =~ /v=(\S+)/;
    my ($system, $release, $architecture) = (POSIX::uname())[0, 2, 4];
    ($release) = $release =~ /^(\d+\.\d+)/;
    return join ', ', $model // $architecture, "$cores cores", "$system $release", "nginx $nginx",
        "redis $redis", POSIX::strftime('%Y-%m-%d', gmtime) . ".\n$self->{setting}\n";
}

sub throughput ($self, $connections) {
    my @header = (
        '', 'requests/s', 'nginx µs', 'primary µs', 'replica µs', 'in all µs', 'nginx × bare', 'in all × bare',
        'Redis commands', 'system calls'
    );
    my $title = $connections == 1 ? '1 connection' : "$connections connections";
    return "**$title**\n", table(\@header, map { [$self->cells($connections, $_)] } @{$self->{rows}});
}

sub cells ($self, $connections, $row) {
    my $runs  = $self->{measured}{$connections}{$row->{name}};
    my $bare  = $self->{measured}{$connections}{$row->{base}};
    my $redis = @{$row->{primary}} > 0;
    my $shown = sub ($format, $figure) { spread($format, map { $_->{$figure} } @$runs) };
    my $ratio = sub ($figure) {
        spread('%.2f', map { $runs->[$_]{$figure} / $bare->[$_]{$figure} } $bare ? 0 .. $#$runs : ());
    };
    my @syscalls = map { sprintf '%.1f', $_ } @{$self->{syscalls}{$connections}{$row->{name}}};
    return (
        $row->{title}, $shown->('%.0f', 'rate'), $shown->('%.1f', 'nginx'),
        (map { $redis ? $shown->('%.1f', $_) : '–' } qw(primary replica)),
        $shown->('%.1f', 'all'), $ratio->('nginx'), $ratio->('all'),
        $redis ? sprintf('%.2f', median(map { $_->{commands} } @$runs)) : '–', join(' + ', @syscalls) || '–',
    );
}

# Returns the total cost of a request as a ratio to bare nginx: {ROW => [median, lower quartile, upper quartile]}.
sub ratios ($self, $connections) {
    my $measured = $self->{measured}{$connections};
    return {
        map {
            my ($runs, $bare) = @$measured{$_->{name}, $_->{base}};
            my @ratios = sort { $a <=> $b } map { $runs->[$_]{all} / $bare->[$_]{all} } 0 .. $#$runs;
            ($_->{name} => [map { percentile($_, @ratios) } 0.5, 0.25, 0.75])
        } @{$self->{rows}}
    };
}

sub fixed_rate ($self) {
    my @table = map {
        my $of = $self->{latency}{$_->{name}};
        [$_->{title}, map { spread('%.0f', @{$of->{$_}}) } qw(p50 p99)]
    } grep { $self->{latency}{$_->{name}} } @{$self->{rows}};
    return "**At $self->{rate} requests/s** over 64 connections\n", table(['', 'p50 µs', 'p99 µs'], @table);
}

# Shown to be within what is asked, or beyond it, where the whole interval is.
sub comparisons ($self) {
    my @table = map {
        my ($median, $low, $high) = (median(@{$_->{ratios}}), median_interval(@{$_->{ratios}}));
        my $most = $_->{most};
        my $says = !defined $low ? 'too few pairs' : $high <= $most ? 'yes' : $low > $most ? 'no' : 'open';
        [
            "$_->{of}{title} / $_->{to}{title}" . ($_->{figure} eq 'all' ? ', in all' : ''), scalar @{$_->{ratios}}, sprintf('%.3f', $median),
            defined $low ? sprintf('%.3f–%.3f', $low, $high) : '–', sprintf('≤ %.2f', $most), $says
        ]
    } @{$self->{pairs}};
    my @header = ('', 'pairs', 'median', '95% interval', 'asked', 'within');
    return "**CPU a request in pairs**, nginx's where not in all, $self->{pair_connections} connections; intervals from the "
        . "order statistics of the median\n", table(\@header, @table);
}

sub charges ($self) {
    my @table = map {
        my $lost = $_->{admitted} - $_->{stored};
        [$_->{row}{title}, @$_{qw(after admitted stored)}, $lost || 'none']
    } sort { $a->{row}{name} cmp $b->{row}{name} } @{$self->{charges}};
    return "**Charges** of the whole run so far\n", table(['', 'after', 'admitted', 'stored', 'lost'], @table);
}

1;

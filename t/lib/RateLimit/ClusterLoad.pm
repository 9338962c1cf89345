package RateLimit::ClusterLoad;

# Load on an nginx whose store is a RateLimit::Cluster. It turns away what it cannot check, unless it is told otherwise: so each request
# that passes was checked, and each must be stored once.
#
#   my $load = RateLimit::ClusterLoad->open($cluster);         # nginx runs, and knows the map
#   $load->begin;                  # requests come: 20 keys of each mode over 8 connections, for about five seconds
#   $load->all_pass;               # waits for their end, and tests that each has passed
#   $load->stop;                   # stops nginx
#   $load->stop_after_failover;    # waits for their end, stops nginx, and tests that each has passed but for those that it tells of as
#                                  # refused by CLUSTERDOWN; returns how many have passed
#   $load->stored;                 # {MODE => what the cluster has of it}
#   $load->nothing_lost;           # tests that nginx tells of nothing in doubt, dropped or refused, and of no node that is down
#   $load->nothing_lost_by_failover;   # tests the same, but a node may refuse for a moment by CLUSTERDOWN: nodes have two connections to each
#                                  # other, and what the new primary said as a replica may come after what it says as a primary. Whoever
#                                  # hears it in this order takes it for a replica again, whose slots nobody serves, until its next word.
#   $load->doubt;                  # {charges, refunds, reservations}: so many are in doubt, as nginx tells
#   $load->nginx;  $load->keys;
#
# Options: modes => [...] (default: all three), requests => 4000, rate => 100 (a second and connection), on_error => 'deny',
# block => TEXT (of the store's block), http => TEXT, server => TEXT (more of nginx's configuration).

use v5.36;

use List::Util qw(max sum0);
use Test::More;
use RateLimit::Flood;
use RateLimit::Nginx;
use RateLimit::Response;
use RateLimit::Wait;

my @keys = (1 .. 20);

sub open ($class, $cluster, %opt) {
    my $self = bless {
        cluster => $cluster, modes => [qw(check_charge charge_refund lease)], requests => 4000, rate => 100, on_error => 'deny',
        block => 'check_timeout 2s;', http => '', server => '', %opt,
    }, $class;
    $self->{nginx} = RateLimit::Nginx->start(
        workers => 2,
        http    => $cluster->block('main', $self->{block}) . $self->{http},
        server  => 'keepalive_requests 1000000000; add_header X-Outcome $rate_limit_status always; rate_limit_key $arg_k;'
            . "rate_limit_store main; rate_limit_on_error $self->{on_error}; rate_limit_headers off; $self->{server}"
            . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @{$self->{modes}}),
    );
    wait_until { outcome($self->nginx->get("/$self->{modes}[0]?k=first")) eq '200 PASSED' } what => 'the map';
    return $self;
}

sub nginx ($self) { return $self->{nginx} }
sub keys ($class) { return @keys }

sub begin ($self) {
    $self->{flood} = RateLimit::Flood->start(
        port => $self->nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } @keys } @{$self->{modes}}],
        requests => $self->{requests}, connections => 8, rate => $self->{rate});
    return $self;
}

sub all_pass ($self) {
    my $counts = $self->{flood}->counts;
    is $counts->{2}, $self->{requests}, 'all requests pass' or diag explain $counts;
    return $self;
}

sub stop_after_failover ($self) {
    my $counts  = $self->{flood}->counts;
    my $refused = $self->stop->refused_by_clusterdown;
    is $counts->{2}, $self->{requests} - $refused, "all requests pass, but for $refused" or diag explain $counts;
    ok $refused == 0 || grep({ $_->log =~ /Cluster state changed: fail/ } $self->{cluster}->nodes), '... which nodes refused that had lost the cluster for a moment';
    return $counts->{2};
}

sub refused_by_clusterdown ($self) {
    return sum0(map { /could not be checked: clusterdown/ ? /\((\d+) requests since/ ? $1 : 1 : () } $self->nginx->lines('error.log'));
}

sub stop ($self) {
    $self->nginx->stop;
    return $self;
}

sub stored ($self) {
    return {map { my $mode = $_; $mode => sum0(map { $self->{cluster}->used($_, "$mode/86400") // 0 } @keys) } @{$self->{modes}}};
}

sub nothing_lost ($self, $what = 'nothing is in doubt or dropped', $but = qr/(?!)/) {
    my @told = grep { /in doubt|were dropped|refuses charges|is down/ && !/$but/ } $self->nginx->lines('error.log');
    return is scalar(@told), 0, $what;
}

sub nothing_lost_by_failover ($self) {
    return $self->nothing_lost('nothing is in doubt or dropped', qr/: clusterdown: /);
}

sub doubt ($self) {
    my %doubt = (charges => 0, refunds => 0, reservations => 0);
    for ($self->nginx->lines('error.log')) {
        $doubt{$1} = max($doubt{$1}, $2) if /: \d+ (charges|refunds|reservations) for .*\((\d+) in doubt so far\)/;
    }
    return \%doubt;
}

1;

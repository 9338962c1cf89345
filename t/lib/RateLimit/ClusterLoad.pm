package RateLimit::ClusterLoad;

# Load on an nginx whose store is a RateLimit::Cluster, and that turns away what it cannot check: so each request that passes was checked, and
# each must be stored once.
#
#   my $load = RateLimit::ClusterLoad->open($cluster);         # nginx runs, and knows the map
#   $load->begin;                  # requests come: 20 keys of each mode over 8 connections, for about five seconds
#   $load->all_pass;               # waits for their end, stops nginx, and tests that each has passed
#   $load->stored;                 # {MODE => what the cluster has of it}
#   $load->nothing_lost;           # tests that nginx tells of nothing in doubt, dropped or refused, and of no node that is down
#   $load->nginx;
#
# Options: modes => [...] (default: all three), requests => 4000.

use v5.36;

use List::Util qw(sum0);
use Test::More;
use RateLimit::Flood;
use RateLimit::Nginx;
use RateLimit::Wait;

my @keys = (1 .. 20);

sub open ($class, $cluster, %opt) {
    my $self = bless {cluster => $cluster, modes => [qw(check_charge charge_refund lease)], requests => 4000, %opt}, $class;
    $self->{nginx} = RateLimit::Nginx->start(
        workers => 2,
        http    => $cluster->block('main', 'check_timeout 2s;'),
        server  => 'keepalive_requests 1000000000; rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error deny; rate_limit_headers off;'
            . join('', map { " location /$_ { rate_limit 1000000r/d name=$_ mode=$_; }" } @{$self->{modes}}),
    );
    wait_until { $self->nginx->http->get('/charge_refund?k=first')->status == 200 } what => 'the map';
    return $self;
}

sub nginx ($self) { return $self->{nginx} }

sub begin ($self) {
    $self->{flood} = RateLimit::Flood->start(
        port => $self->nginx->port, uris => [map { my $mode = $_; map { "/$mode?k=$_" } @keys } @{$self->{modes}}],
        requests => $self->{requests}, connections => 8, rate => 100);
    return $self;
}

sub all_pass ($self) {
    my $counts = $self->{flood}->counts;
    is $counts->{2}, $self->{requests}, 'all requests pass' or diag explain $counts;
    $self->nginx->stop;
    return $self;
}

sub stored ($self) {
    return {map { my $mode = $_; $mode => sum0(map { $self->{cluster}->used($_, "$mode/86400") // 0 } @keys) } @{$self->{modes}}};
}

sub nothing_lost ($self) {
    return is $self->nginx->count_log(qr/in doubt|were dropped|refuses charges|is down/), 0, 'nothing is in doubt or dropped';
}

1;

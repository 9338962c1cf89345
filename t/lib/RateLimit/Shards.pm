package RateLimit::Shards;

# Shards of one primary and its replicas each, started together.
#
#   my $shards = RateLimit::Shards->start(2, replicas => 1, redis => {password => 'x'});
#   $shards->block('main', "check_timeout 50ms;");   # rate_limit_redis main { shard a ...; shard b ...; ... }
#   $shards->primary(0)->cmd(...);  $shards->replica(0, 1);  $shards->replicas(0);  $shards->all;
#   $shards->names;                  # a, b, c, ... unless names => [...] says otherwise
#   $shards->wait_synced;  $shards->flush;  $shards->forget_calls;
#   $shards->find($key);             # the primary that holds the key, undef if none

use strict;
use warnings;
use feature 'signatures';

use RateLimit::Redis;

sub start ($class, $count, %opt) {
    my @names = @{$opt{names} // [map { chr(ord('a') + $_) } 0 .. $count - 1]};
    my @redis = (%{$opt{redis} // {}}, wait => 0);
    my @shards;
    for my $name (@names[0 .. $count - 1]) {
        my $primary = RateLimit::Redis->start(@redis);
        my @replicas =
            map { RateLimit::Redis->start(@redis, replica_of => $primary) } 1 .. ($opt{replicas} // 0);
        push @shards, {name => $name, primary => $primary, replicas => \@replicas};
    }
    my $self = bless {shards => \@shards}, $class;
    $_->wait_ready for map { $_->{primary} } @shards;
    $_->wait_ready for map { @{$_->{replicas}} } @shards;
    $_->forget_calls for $self->all;
    return $self;
}

sub names ($self)             { return map { $_->{name} } @{$self->{shards}} }
sub primary ($self, $i = 0)   { return $self->{shards}[$i]{primary} }
sub replicas ($self, $i = 0)  { return @{$self->{shards}[$i]{replicas}} }
sub primaries ($self)         { return map { $_->{primary} } @{$self->{shards}} }
sub all ($self)               { return map { ($_->{primary}, @{$_->{replicas}}) } @{$self->{shards}} }
sub forget_calls ($self)      { $_->forget_calls for $self->all; return $self }

sub replica ($self, $i = 0, $j = 0) { return $self->{shards}[$i]{replicas}[$j] }

sub wait_synced ($self) {
    $_->wait_synced for map { @{$_->{replicas}} } @{$self->{shards}};
    return $self;
}

sub flush ($self) {
    $_->flush for $self->primaries;
    return $self->wait_synced;
}

sub find ($self, $key) {
    my ($found) = grep { $_->cmd('EXISTS', $key) } $self->primaries;
    return $found;
}

sub block ($self, $name, $more = '') {
    my @lines = map {
        join ' ', 'shard', $_->{name}, 'primary=' . $_->{primary}->address,
            map { 'replica=' . $_->address } @{$_->{replicas}}
    } @{$self->{shards}};
    return join '', "rate_limit_redis $name {\n", (map { "    $_;\n" } @lines), "    $more\n}\n";
}

1;

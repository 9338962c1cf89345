package RateLimit::Shards;

# Shards of one primary and its replicas each, started together.
#
#   my $shards = RateLimit::Shards->start(2, replicas => 1, redis => {password => 'x'});
#   $shards->block('main', "check_timeout 50ms;");   # rate_limit_redis main { shard a ...; shard b ...; ... }
#   redis_block('main', $primary, "check_timeout 50ms;");           # such a block of any server, or of a proxy
#   redis_block('main', [$primary, $replica], ...);
#   timeless_block('main', $redis);  # such a block of one that was started with timeless => 1: buckets go by the clocks of the nginx
#
# Without further directives a block has timeouts that no test is to meet, even on a busy machine; '' means nginx's own;
# timeouts('20s') are all three of that length; always_checks() lets each request ask a node. For a server an address may stand: '127.0.0.1:%%PORT_1%%'.
#
#   $shards->primary(0)->cmd(...);  $shards->replica(0, 1);  $shards->replicas(0);  $shards->all;
#   $shards->names;                  # a, b, c, ... unless names => [...] says otherwise
#   $shards->wait_synced;  $shards->flush;  $shards->forget_calls;
#   $shards->find($key);             # the primary that holds the key, undef if none
#   $shards->used($key);             # how much is used of it, 0 where it is nowhere

use strict;
use warnings;
use feature 'signatures';

use Exporter 'import';
use RateLimit::Redis;

our @EXPORT = qw(always_checks redis_block timeless_block timeouts);

my $patient = 'check_timeout 9s; connect_timeout 9s;';

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

sub used ($self, $key) {
    my $found = $self->find($key);
    return $found ? $found->hash($key)->{used} : 0;
}

sub block ($self, $name, $more = $patient) {
    return block_of($name, $more, map { [$_->{name}, $_->{primary}, @{$_->{replicas}}] } @{$self->{shards}});
}

sub redis_block ($name, $servers, $more = $patient) {
    return block_of($name, $more, ['a', ref $servers eq 'ARRAY' ? @$servers : $servers]);
}

sub timeless_block ($name, $server) { return redis_block($name, $server, "$patient username nginx; password secret;") }

sub always_checks () { return "$patient fresh off;" }

sub timeouts ($time) { return join ' ', map { "${_}_timeout $time;" } qw(check connect charge) }

sub block_of ($name, $more, @shards) {
    my @lines = map {
        my ($shard, $primary, @replicas) = map { ref ? $_->address : $_ } @$_;
        join ' ', "    shard $shard", "primary=$primary", map { "replica=$_" } @replicas
    } @shards;
    return join '', "rate_limit_redis $name {\n", (map { "$_;\n" } @lines), "    $more\n}\n";
}

1;

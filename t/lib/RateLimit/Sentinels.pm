package RateLimit::Sentinels;

# Primaries with replicas, and the sentinels that watch over them and name a new primary when one fails.
#
#   my $set = RateLimit::Sentinels->start;                           # mymaster with two replicas, three sentinels
#   my $set = RateLimit::Sentinels->start(masters => {a => {replicas => 1}, b => {replicas => 2}}, sentinels => 5);
#
# When it has started, every sentinel knows all replicas and all other sentinels, and all replicas follow. Options:
#   down_after => 1000, failover_timeout => 2000    # milliseconds, times TEST_SLOW; quorum => N: default, more than half of the sentinels. Each further
#                               # sentinel has 200 ms more of patience, so that one of them starts the election and no votes are split
#   slow => 1                   # sentinels keep their own pace: a demoted primary goes on as one for 11 s. Else their periods are so
#                               # short that it does so for 2 s
#   debug => {'info-period' => 100}                # other periods of SENTINEL DEBUG than those
#   redis => {...}, sentinel => {...}              # options of RateLimit::Redis for each server, for each sentinel: password, acl, args
#                               # (of the sentinels and this library the default user must be enough); masters => {a => {redis => {}}}
#   tls => {certificate => FILE, key => FILE, trusted => FILE}      # files, see RateLimit::Redis; for all of them, and among them too
#   name => 'localhost'         # servers announce that name, and sentinels tell it; this machine must resolve it
#   lines => ['sentinel ...']   # more lines for the sentinels' configuration
#
# The name of a master may be left out where there is one alone.
#
#   $set->block('main', "check_timeout 50ms;");    # rate_limit_redis main { sentinel ...; shard a master=a; ... }
#   $set->primary('a');  $set->replicas('a');      # RateLimit::Redis::Member; by the word of the sentinels; replicas: all others
#   $set->servers('a');                            # in the order of their start, the first primary first
#   $set->sentinels;  $set->sentinel_addresses;    # RateLimit::Redis::Sentinel
#   $set->address_of('a');                         # by the word of the sentinel with the highest epoch, of those that are up
#   $set->failover('a');                           # by SENTINEL FAILOVER; the new primary, when all sentinels that are up name it
#   $set->wait_switched('a', $old);                # likewise for a failover of their own, after $old->kill or $old->freeze
#   $set->wait_known;                              # every sentinel that is up sees all that are up, and nothing else
#   $set->used('alice', 'core/60');                # on the primaries, together

use v5.36;

use Carp qw(croak);
use List::Util qw(all first sum0);
use RateLimit::Redis::Member;
use RateLimit::Redis::Sentinel;
use RateLimit::Shards;
use RateLimit::Wait;

# How long sentinels wait before they make a replica of a server that says it is a primary: four of these. The one that leads a failover
# looks at the promoted server once a second, whatever its periods; if the wait were shorter, the others would undo the promotion.
my %settled = ('publish-period' => patience(500));

# A replica can be promoted if its last INFO is no older than five ping periods; once it has lost its primary, it is asked once a second.
my %quick = ('info-period' => 200, 'publish-period' => 100, 'ping-period' => 400,
    'min-link-reconnect-period' => 500, 'tilt-period' => 500, 'slave-reconf-timeout' => 1000);

sub start ($class, %opt) {
    my $self = bless {down_after => 1000, failover_timeout => 2000, sentinels => 3, masters => {mymaster => {replicas => 2}}, %opt},
        $class;
    $self->{members}   = [];
    $self->{debug}     = $opt{slow} ? {} : \%quick;
    $self->{set}       = {map { $_ => [] } CORE::keys %{$self->{masters}}};
    $self->{listening} = [];
    $self->start_server($_) for $self->masters;
    $_->wait_ready for @{$self->{members}};
    for my $master ($self->masters) {
        $self->start_server($master, $self->{set}{$master}[0]) for 1 .. $self->{masters}{$master}{replicas} // 0;
    }
    $self->start_sentinel for 1 .. $self->{sentinels};
    $_->wait_ready for @{$self->{members}}, $self->sentinels;
    $self->wait_known;
    if (!$opt{slow}) {
        $_->keep_pace(%settled, %{$opt{debug} // {}}) for $self->sentinels;
    }
    return $self;
}

sub start_server ($self, $master, $follows = undef) {
    my $members = $self->{members};
    my @options = (%{$self->{redis} // {}}, %{$self->{masters}{$master}{redis} // {}}, tls => $self->{tls}, name => $self->{name});
    my $server = RateLimit::Redis::Member->start(@options, wait => 0, follows => $follows, members => $members);
    push @$_, $server for $members, $self->{set}{$master};
    return $server;
}

sub start_sentinel ($self) {
    my %opt      = %{$self->{sentinel} // {}};
    my $quorum   = $self->{quorum} // int($self->{sentinels} / 2) + 1;
    my $patience = patience($self->{down_after} + 200 * @{$self->{listening}});
    my @lines    = $self->{name} ? ('sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes') : ();
    for my $master ($self->masters) {
        my $primary = $self->{set}{$master}[0];
        push @lines, join(' ', "sentinel monitor $master", $self->{name} // $primary->{host}, $primary->announced_port, $quorum),
            "sentinel down-after-milliseconds $master $patience",
            "sentinel failover-timeout $master " . patience($self->{failover_timeout});
        push @lines, "sentinel auth-pass $master $primary->{password}" if defined $primary->{password};
    }
    push @lines, "sentinel sentinel-pass $opt{password}" if defined $opt{password};
    my $sentinel = RateLimit::Redis::Sentinel->start(
        %opt, name => $self->{name}, tls => $self->{tls}, debug => {%{$self->{debug}}}, wait => 0, lines => [@lines, @{$self->{lines} // []}]);
    push @{$self->{listening}}, $sentinel;
    return $sentinel;
}

sub masters ($self)            { return sort { $a cmp $b } CORE::keys %{$self->{masters}} }
sub sentinels ($self)          { return @{$self->{listening}} }
sub up ($self)                 { return grep { $_->up } $self->sentinels }
sub sentinel_addresses ($self) { return map { $_->address } $self->sentinels }

sub only ($self, $master) {
    my @masters = $self->masters;
    croak 'which master?' if !defined $master && @masters != 1;
    return $master // $masters[0];
}

sub servers ($self, $master = undef) { return @{$self->{set}{$self->only($master)}} }

sub server_at ($self, $address) {
    my ($port) = $address =~ /:(\d+)$/ or return;
    return first { $_->announced_port == $port } @{$self->{members}};
}

# The sentinel that leads a failover has the new epoch in SENTINEL MASTER before it has the new address.
sub address_of ($self, $master = undef) {
    $master = $self->only($master);
    my @known    = map { my $about = $_->about($master); $about ? [$_->word($master), $about->{'config-epoch'}] : () } $self->up;
    my ($latest) = sort { $b->[1] <=> $a->[1] } @known;
    $self->{last}{$master} = $latest->[0] if $latest;
    return $self->{last}{$master} // croak "no sentinel is up, and none was asked about $master before";
}

sub primary ($self, $master = undef) { return $self->server_at($self->address_of($master)) }

sub replicas ($self, $master = undef) {
    my $primary = $self->primary($master);
    return grep { $_ != $primary } $self->servers($master);
}

# A sentinel gives a failover up where no replica looks good enough to it just then; then it is asked again.
sub failover ($self, $master = undef) {
    $master = $self->only($master);
    my $old = $self->primary($master);
    my ($sentinel) = $self->up;
    return wait_until {
        my $new = $self->switched($master, $old);
        my $idle = !$new && $sentinel->about($master)->{flags} !~ /failover_in_progress/;
        $sentinel->ask('SENTINEL', 'FAILOVER', $master) if $idle && $sentinel->word($master) eq $self->{last}{$master};
        $new
    } timeout => 30, what => "the sentinels to make another server the primary of $master";
}

sub wait_switched ($self, @which) {
    my $old = pop @which;
    my $master = $self->only($which[0]);
    return wait_until { $self->switched($master, $old) } timeout => 30, what => "the sentinels to name another primary of $master";
}

# The new primary that all sentinels agree on, if they do.
sub switched ($self, $master, $old) {
    my ($new, @others) = map { $self->server_at($_->word($master)) // 0 } $self->up;
    return if !$new || $new == $old || !all { $_ == $new } @others;
    $self->address_of($master);
    return $new;
}

sub wait_known ($self) {
    for my $master ($self->masters) {
        wait_until { all { $self->knows($_, $master) } $self->up } timeout => 30, what => "the sentinels to know all of $master";
        $self->address_of($master);
    }
    return $self;
}

sub knows ($self, $sentinel, $master) {
    my $about    = $sentinel->about($master) or return 0;
    my @servers  = grep { $_->up } $self->servers($master);
    my @replicas = grep { $_->{flags} eq 'slave' } $sentinel->replicas_of($master);
    my @others   = grep { ({@$_})->{flags} eq 'sentinel' } @{$sentinel->cmd('SENTINEL', 'SENTINELS', $master)};
    my $primary  = $self->server_at("$about->{ip}:$about->{port}") or return 0;
    return $about->{flags} eq 'master' && @others == $self->up - 1 && @replicas == @servers - 1
        && (all { $_->{'master-link-status'} eq 'ok' } @replicas)
        && $primary->role eq 'master' && followed_by($primary) == @servers - 1;
}

# How many replicas a primary counts as good enough to be written to.
sub followed_by ($primary) {
    my $info = $primary->info('replication');
    return $info->{min_slaves_good_slaves} // grep { /^slave\d+$/ && $info->{$_} =~ /state=online/ } CORE::keys %$info;
}

sub used ($self, @window) { return sum0(map { $self->primary($_)->used(@window) } $self->masters) }

sub block ($self, $name, $more = timeouts('9s')) {
    my $sentinels = join ' ', 'sentinel', $self->sentinel_addresses;
    my $shards = join '', map { "    shard $_ master=$_;\n" } $self->masters;
    return "rate_limit_redis $name {\n    $sentinels;\n$shards    $more\n}\n";
}

1;

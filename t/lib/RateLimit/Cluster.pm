package RateLimit::Cluster;

# A Redis Cluster on loopback.
#
#   my $cluster = RateLimit::Cluster->start(primaries => 3, replicas => 1);    # replicas of each primary; these are the defaults
#
# When it has started, all nodes agree on who has which slots, and all replicas follow. Options:
#   node_timeout => 1000         # milliseconds, times TEST_SLOW. Where no node is to fail, take more: a busy machine that holds one up for
#                                # so long makes the whole cluster refuse commands for a moment
#   full_coverage => 0           # cluster-require-full-coverage
#   redis => {...}               # options of RateLimit::Redis for each node: password, acl, args, appendonly. Names and unusual
#                                # endpoints need none: set cluster-announce-hostname, cluster-preferred-endpoint-type and the like by CONFIG
#   tls => {certificate => FILE, key => FILE, trusted => FILE}     # files, see RateLimit::Redis; for clients and among the nodes
#
# Do not let the same replica win twice within four seconds (or four node timeouts), demoted between: Redis 7.0 counts the votes of the
# first election again. The replica then claims the slots with its old epoch, no other node believes it, and the cluster stays down.
#
#   $cluster->block('main', "check_timeout 50ms;");        # rate_limit_redis main { cluster ...; ... }
#   $cluster->nodes;  $cluster->up;                        # RateLimit::Redis::Member; of these, neither ended nor frozen
#   $cluster->primaries;  $cluster->replicas;              # those that are so now: primaries have slots. Of those that are up
#   $cluster->seeds;                                       # the addresses of all nodes
#   $cluster->slot_of($key);  $cluster->key_in($slot);     # any key of that slot, k{N}
#   $cluster->node_of($slot);                              # its owner, of those that are up: who claims it with the highest epoch; or undef
#   $cluster->primary_of($key);  $cluster->replicas_of($key);
#   $cluster->slots_of($node);                             # a list of numbers
#   $cluster->used('alice', 'core/60');  $cluster->stored('alice', 'core/60');     # see RateLimit::Redis; at the owner
#   $cluster->failover($replica);                          # CLUSTER FAILOVER; or with 'FORCE' or 'TAKEOVER'. Until all agree
#   $cluster->wait_promoted($old);                         # after $old->kill: the replica that has its slots, when all that are up agree
#   $cluster->wait_ok;                                     # all that are up say cluster_state:ok, agree, and replicas follow
#   $cluster->migrate_slots($from, $to, @slots);           # key by key, until all agree
#   $cluster->begin_migration($from, $to, $slot, @keys);   # moves these keys only, and leaves the slot in migration
#   $cluster->migrate_at_once($from, $to, @slots);         # in one step: Valkey 9
#   $cluster->knows_atomic_migration;                      # whether the servers can
#   my $node = $cluster->add_node;                         # without slots; add_node(replica_of => $primary)
#   $cluster->remove_node($node);                          # one without slots; it is forgotten, then ended

use v5.36;

use Carp qw(croak);
use List::Util qw(all first max uniq);
use RateLimit::Port;
use RateLimit::Redis::Member;
use RateLimit::Shards;
use RateLimit::Wait;

use constant {SLOTS => 16_384};

sub start ($class, %opt) {
    my $self = bless {primaries => 3, replicas => 1, node_timeout => 1000, full_coverage => 1, %opt, members => []}, $class;
    my $count = $self->{primaries};
    $self->start_node for 1 .. $count * (1 + $self->{replicas});
    my @nodes = $self->nodes;
    $_->wait_ready for @nodes;
    # Epochs of their own: else nodes with the same one would first have to settle who takes the next.
    $nodes[$_]->cmd('CLUSTER', 'SET-CONFIG-EPOCH', $_ + 1) for 0 .. $#nodes;
    for my $i (0 .. $count - 1) {
        my ($first, $next) = map { int($_ * SLOTS / $count) } $i, $i + 1;
        $nodes[$i]->cmd('CLUSTER', 'ADDSLOTSRANGE', $first, $next - 1);
    }
    $self->meet;
    $self->replicate($nodes[$_], $nodes[$_ % $count]) for $count .. $#nodes;
    return $self->wait_ok;
}

sub start_node ($self) {
    my %redis = %{$self->{redis} // {}};
    my $bus   = free_port();
    my @args  = (
        '--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-port', $bus,
        '--cluster-node-timeout', patience($self->{node_timeout}), '--cluster-allow-replica-migration', 'no',
        '--cluster-require-full-coverage', $self->{full_coverage} ? 'yes' : 'no',
    );
    push @args, '--tls-cluster', 'yes' if $self->{tls} && !$self->{tls}{beside};
    my $node = RateLimit::Redis::Member->start(
        %redis, bus => $bus, tls => $self->{tls}, wait => 0, members => $self->{members}, args => [@args, @{$redis{args} // []}]);
    push @{$self->{members}}, $node;
    return $node;
}

# Each meets each, for gossip alone would take seconds. A node gives up a meeting that takes longer than the node timeout, which
# happens on a busy machine; then the two are told again.
sub meet ($self) {
    my @up = $self->up;
    $_->{id} = $_->cmd('CLUSTER', 'MYID') for @up;
    my $told;
    wait_until {
        my @strangers = strangers(@up);
        if (!defined $told || monotonic() - $told > patience(max(1, $self->{node_timeout} / 1000))) {
            $_->[0]->cmd('CLUSTER', 'MEET', $_->[1]{host}, $_->[1]->announced_port, $_->[1]{bus}) for @strangers;
            $told = monotonic();
        }
        !@strangers
    } timeout => 30, what => 'the nodes to meet';
    return;
}

# The pairs of which one does not know the other, or has no link to it.
sub strangers (@nodes) {
    my %knows;
    for my $node (@nodes) {
        my @known = grep { $_->{flags} !~ /handshake|noaddr/ && $_->{link} eq 'connected' } table($node);
        $knows{$node->{id}}{$_->{id}} = 1 for @known;
    }
    my @pairs;
    while (my $node = shift @nodes) {
        push @pairs, map { [$node, $_] } grep { !$knows{$node->{id}}{$_->{id}} || !$knows{$_->{id}}{$node->{id}} } @nodes;
    }
    return @pairs;
}

sub replicate ($self, $node, $primary) {
    $node->cmd('CLUSTER', 'REPLICATE', $primary->{id});
    return;
}

# CLUSTER NODES, as a node says it.
sub table ($node) {
    my @lines;
    for my $line (split /\n/, $node->cmd('CLUSTER', 'NODES')) {
        my ($id, undef, $flags, $primary, undef, undef, $epoch, $link, @slots) = split / /, $line;
        my @ranges = map { /^(\d+)(?:-(\d+))?$/ ? [$1, $2 // $1] : () } @slots;
        push @lines, {id => $id, flags => $flags, primary => $primary, epoch => $epoch, link => $link, slots => \@ranges};
    }
    return @lines;
}

# The line of a node about itself.
sub self_of ($node) { return first { $_->{flags} =~ /myself/ } table($node) }

sub has ($line, $slot) { return grep { $slot >= $_->[0] && $slot <= $_->[1] } @{$line->{slots}} }

sub numbers ($line) { return map { $_->[0] .. $_->[1] } @{$line->{slots}} }

# [node, what it says of itself] of each that is up, the highest epoch first.
sub views ($self) {
    return sort { $b->[1]{epoch} <=> $a->[1]{epoch} } map { [$_, self_of($_)] } $self->up;
}

sub nodes ($self) { return @{$self->{members}} }
sub up ($self)    { return grep { $_->up } $self->nodes }
sub seeds ($self) { return map { $_->address } $self->nodes }

# Each slot belongs to the first view that claims it.
sub owned ($self) {
    my (%taken, @owned);
    for my $view ($self->views) {
        my ($node, $line) = @$view;
        my @slots = $line->{flags} =~ /master/ ? grep { !$taken{$_}++ } numbers($line) : ();
        push @owned, [$node, \@slots];
    }
    return @owned;
}

sub primaries ($self) {
    my %is = map { $_->[0]{id} => 1 } grep { @{$_->[1]} } $self->owned;
    return grep { $is{$_->{id}} } $self->nodes;
}

sub replicas ($self) { return grep { self_of($_)->{flags} =~ /slave/ } $self->up }

sub slots_of ($self, $node) { return map { @{$_->[1]} } grep { $_->[0] == $node } $self->owned }

sub node_of ($self, $slot) {
    my $view = first { $_->[1]{flags} =~ /master/ && has($_->[1], $slot) } $self->views;
    return $view && $view->[0];
}

sub primary_of ($self, $key) { return $self->node_of($self->slot_of($key)) }

sub replicas_of ($self, $key) {
    my $primary = $self->primary_of($key) or return;
    return $self->replicas_at($primary);
}

sub replicas_at ($self, $primary) { return grep { self_of($_)->{primary} eq $primary->{id} } $self->up }

sub used ($self, $client, @window) { return $self->stored($client, @window)->{used} // 0 }

sub stored ($self, $client, $window = 'default/3600') {
    my $owner = $self->primary_of("rl:$window:$client") or croak "no node that is up has the slot of $client";
    return $owner->stored($client, $window);
}

# CRC16/XMODEM of what stands in the first braces that hold something, else of the whole key.
sub slot_of ($, $key) {
    my $tagged = $key =~ /^[^{]*\{([^}]+)\}/s ? $1 : $key;
    my $crc = 0;
    for my $byte (unpack 'C*', $tagged) {
        $crc ^= $byte << 8;
        $crc = ($crc & 0x8000 ? $crc << 1 ^ 0x1021 : $crc << 1) & 0xffff for 1 .. 8;
    }
    return $crc % SLOTS;
}

# The slot of the first key of a command of the module; undef where it has none.
sub slot_of_command ($class, $words) {
    my ($command, @arguments) = @$words;
    return if $command !~ /^(?:hmget|hincrby|evalsha|eval)$/;
    return $class->slot_of($arguments[$command =~ /^eval/ ? 2 : 0]);
}

my (%tags, $tag);

sub key_in ($self, $slot) {
    $tags{$self->slot_of(++$tag)} //= $tag while !defined $tags{$slot};
    return "k{$tags{$slot}}";
}

sub wait_ok ($self) {
    wait_until { $self->settled } timeout => 30, what => 'the cluster to be ok';
    return $self;
}

sub settled ($self) {
    return if !$self->agreed || !all { ($_->info('replication')->{master_link_status} // 'up') eq 'up' } $self->up;
    my @owned = $self->owned;
    my %leads = map { $_->[0]{id} => 1 } grep { @{$_->[1]} } @owned;
    my @replicas = map { $_->[0]{id} } grep { $_->[1]{flags} =~ /slave/ && $leads{$_->[1]{primary}} } $self->views;
    return if !all { tells($_, @replicas) } $self->up;
    $_->[0]{had} = $_->[1][0] for @owned;
    return 1;
}

# Whether the map that clients ask this node for has these replicas. It leaves out those that are up but have not said yet, by gossip, how
# far they follow; who reads it then, as the module does every 15 s, does not know them.
sub tells ($node, @replicas) {
    my %told = map { $_->[2] => 1 } map { @$_[3 .. $#$_] } @{$node->cmd('CLUSTER', 'SLOTS')};
    return all { $told{$_} } @replicas;
}

# Nodes that are up agree; those that are down need not.
sub agreed ($self) {
    my @up = $self->up;
    my %here = map { $_->{id} => 1 } @up;
    return if !all { $_->cmd('CLUSTER', 'INFO') =~ /cluster_state:ok\r/ } @up;
    my @said = map {
        join "\n", sort map {
            my ($role) = $_->{flags} =~ /(master|slave)/;
            join ' ', $_->{id}, $role // '', $_->{primary}, $_->{epoch}, join ',', map { join '-', @$_ } @{$_->{slots}}
        } grep { $here{$_->{id}} } table($_)
    } @up;
    return uniq(@said) == 1;
}

sub failover ($self, $replica, $how = undef) {
    my $asked = -60;
    wait_until {
        my $is = self_of($replica)->{flags} =~ /master/;
        if (!$is && monotonic() - $asked > patience(6)) {
            $asked = monotonic();    # a node gives a failover up after five seconds
            $replica->cmd('CLUSTER', 'FAILOVER', $how // ());
        }
        $is
    } timeout => 30, what => "node $replica->{port} to become a primary";
    $self->wait_ok;
    return $replica;
}

sub wait_promoted ($self, $old) {
    my $slot = $old->{had} // croak "node $old->{port} had no slots when all agreed last";
    return wait_until {
        my $new = $self->node_of($slot);
        $new && $new != $old && $self->settled ? $new : undef
    } timeout => 30, what => "a replica of node $old->{port} to take its place";
}

sub migrate_slots ($self, $from, $to, @slots) {
    for my $slot (@slots) {
        $self->begin_migration($from, $to, $slot);
        while (my @keys = @{$from->cmd('CLUSTER', 'GETKEYSINSLOT', $slot, 100)}) {
            $self->move_keys($from, $to, @keys);
        }
        $_->cmd('CLUSTER', 'SETSLOT', $slot, 'NODE', $to->{id}) for $to, $from;
    }
    return $self->wait_ok;
}

sub begin_migration ($self, $from, $to, $slot, @keys) {
    $to->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from->{id});
    $from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to->{id});
    $self->move_keys($from, $to, @keys) if @keys;
    return $self;
}

sub move_keys ($self, $from, $to, @keys) {
    my @auth = defined $to->{password} ? ('AUTH', $to->{password}) : ();
    $from->cmd('MIGRATE', $to->{host}, $to->announced_port, '', 0, patience(5000), @auth, 'KEYS', @keys);
    return;
}

sub knows_atomic_migration ($self) { return $self->nodes && ($self->up)[0]->ask('CLUSTER', 'GETSLOTMIGRATIONS') !~ /^ERR/ }

sub migrate_at_once ($self, $from, $to, @slots) {
    $from->cmd('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', (map { ($_, $_) } sort { $a <=> $b } @slots), 'NODE', $to->{id});
    wait_until {
        my $last = {@{$from->cmd('CLUSTER', 'GETSLOTMIGRATIONS')->[0] // []}};
        croak "the migration ended: $last->{message}" if ($last->{state} // '') =~ /failed|cancelled/;
        ($last->{state} // '') eq 'success'
    } what => 'the slots to migrate';
    return $self->wait_ok;
}

sub add_node ($self, %opt) {
    my $node = $self->start_node;
    $node->wait_ready;
    $self->meet;
    $self->replicate($node, $opt{replica_of}) if $opt{replica_of};
    $self->wait_ok;
    return $node;
}

sub remove_node ($self, $node) {
    croak "node $node->{port} has slots" if $self->slots_of($node);
    @{$self->{members}} = grep { $_ != $node } @{$self->{members}};
    $_->cmd('CLUSTER', 'FORGET', $node->{id}) for $self->up;
    $node->kill;
    return $self->wait_ok;
}

sub block ($self, $name, $more = timeouts('9s')) {
    my $seeds = join ' ', 'cluster', $self->seeds;
    return "rate_limit_redis $name {\n    $seeds;\n    $more\n}\n";
}

1;

package RateLimit::Books;

# The books of a fault: load on an nginx whose store has a RateLimit::Sentinels behind it, what it admitted, and what is stored in
# the end.
#
#   my $books = RateLimit::Books->open($set);      # nginx runs, all servers have what was written, and requests come
#   $books->traffic;                     # a RateLimit::Traffic: mark, since, more
#   $books->nginx;
#   $books->recovered;                   # waits until no request meets an error any more; returns a mark
#   $books->served('what', since => $mark);        # tests that each request was answered as configured, and in time; 0: since open
#   $books->errors($mark);  $books->errors($mark, 'lease');     # how many met one since, of any mode or that one
#   $books->rest;                        # ends the load, and waits until nothing waits for a primary
#   $books->balance;                     # ends the load and nginx, and tests whether the books balance; returns what was lost and
#                                        # what is in doubt, together
#
# They balance if, in each mode,
#     admitted - in doubt - lost <= stored <= admitted + given back in vain,
# where nothing waits and nothing was dropped any more, lost is what a former primary had and its successor did not have when it
# was promoted, and given back in vain are tokens that the former primary had back and its successor had not. A reservation in doubt may be stored though it was not admitted, and is a whole batch in a lease.
#
# Options of open:
#   modes => [...]               # default: all three; 20 keys in each
#   limit => 40                  # the limit of each key; default: so many that nothing is rejected. Where it can be reached, requests are denied
#                                # where nobody can be asked, and no more may be admitted than the limits and what is lost or in doubt
#   block => TEXT                # the store's block; default: that of the set;  store => TEXT: more directives in it
#   nginx => {...}               # options of RateLimit::Nginx
#   connections => 3, rate => 40             # the load of each mode; rate: requests a second and connection
#   check_timeout => 9           # in seconds, default 1: where a machine that stalls so long is not to be taken for the fault. Answers
#                                # are to be as quick as ever
# and of balance:
#   unlogged => N                # requests of killed workers may be stored and not logged, or the other way round: at most so many
#   lost => N, doubt => N        # so much at most; default: whatever was
#   told => 1                    # losses are in doubt, too: so nginx has said that it may be lost

use v5.36;

use List::Util qw(max sum0);
use Test::More;
use RateLimit::Folder;
use RateLimit::Nginx;
use RateLimit::Process;
use RateLimit::Traffic;
use RateLimit::Wait;

use constant {LEASE => 5, PLENTY => 100_000_000, TIMEOUT => 1};

my @keys  = (1 .. 20);
my $count = 0;

sub open ($class, $set, %opt) {
    my $self = bless {
        set => $set, modes => [qw(check_charge charge_refund lease)], limit => PLENTY, connections => 3, rate => 40,
        check_timeout => TIMEOUT, %opt,
        prefix => test_folder() . '/books-' . ++$count,
    }, $class;
    my $more    = "check_timeout $self->{check_timeout}s; " . ($opt{store} // '');
    my %nginx   = (workers => 2, reuseport => 1, %{$opt{nginx} // {}});
    my $on_error = $self->{limit} == PLENTY ? 'allow' : 'deny';
    $self->{nginx} = RateLimit::Traffic->nginx(
        %nginx, key => '$arg_k', http => ($nginx{http} // '') . ($opt{block} // $set->block('main', $more)),
        server => 'rate_limit_store main; rate_limit_headers off; rate_limit_log_level info; rate_limit_lease ' . LEASE
            . "; rate_limit_on_error $on_error; "
            . join(' ', map { "location /$_ { rate_limit $self->{limit}r/d name=$_ mode=$_; }" } @{$self->{modes}}),
    );
    $self->{traffic} = RateLimit::Traffic->made_by_others($self->{nginx});
    $self->wait_written;
    $self->watch($_) for $set->servers;
    $self->load;
    $self->{traffic}->more(100);
    return $self;
}

sub nginx ($self)   { return $self->{nginx} }
sub traffic ($self) { return $self->{traffic} }
sub modes ($self)   { return @{$self->{modes}} }

# A replica gets nothing in the first second after its synchronization, and would have nothing if it were promoted then.
sub wait_written ($self) {
    my ($mode) = $self->modes;
    wait_until {
        $self->{nginx}->get("/$mode?k=first");
        !grep { !$_->used('first', "$mode/86400") } $self->{set}->servers
    } what => 'all servers to have what nginx writes';
    # The first requests may have met a worker that had not heard of the servers yet.
    $self->{traffic}{judged} = $self->{admitted_before} = $self->{traffic}->mark;
    return;
}

# Rounds of h2load, for it goes through the URIs from the first one in each connection; one for each mode, as requests of one may have to
# wait where those of another need not.
sub load ($self) {
    my $prefix = $self->{prefix};
    for my $mode ($self->modes) {
        write_text("$prefix.$mode", join '', map { "/$mode?k=$_\n" } @keys);
        my $requests = @keys * $self->{connections};
        my $round = "h2load --h1 -n $requests -c $self->{connections} --rps=$self->{rate} -i $prefix.$mode -B http://127.0.0.1:"
            . $self->{nginx}->port;
        push @{$self->{load}}, RateLimit::Process->start(
            command => ['/bin/sh', '-c', "while [ ! -e $prefix.end ]; do $round || exit; done"], output => "$prefix.out", name => 'h2load');
    }
    return;
}

# Notes what a server has from time to time, and whether it was a primary then: a line each. It is asked for its role after what it has.
sub watch ($self, $server) {
    my $file = "$self->{prefix}-$server->{port}";
    my @asked = ((map { my $mode = $_; map { ['HGET', "rl:$mode/86400:$_", 'used'] } @keys } $self->modes), ['INFO', 'replication']);
    push @{$self->{watched}}, {server => $server, file => $file};
    RateLimit::Process->start(name => "what is stored on $server->{port}", run => sub {
        delete $server->{connection};
        CORE::open my $out, '>', $file or die "$file: $!";
        $out->autoflush(1);
        while (1) {
            my @used = eval { $server->pipeline(@asked) };
            if (@used && pop(@used) =~ /^role:(\w+)/m) {
                my $role = $1;
                my @sums = map { sum0(map { $_ // 0 } splice @used, 0, scalar @keys) } $self->modes;
                print {$out} join(' ', $role, now, @sums), "\n";
            }
            select undef, undef, undef, 0.03;
        }
    });
    return;
}

# The last that each server had as a primary, before it followed another one or ended, and as a replica, before it was promoted.
sub terms ($self) {
    my @terms;
    for my $watched (@{$self->{watched}}) {
        my $before;
        for my $line (split /\n/, read_text($watched->{file})) {
            my ($role, $at, @sums) = split / /, $line;
            if ($role eq 'master') {
                push @terms, {from => $at, inherited => $before} if !$before || $before->{role} ne 'master';
                $terms[-1]{left} = \@sums;
            }
            $before = {role => $role, sums => \@sums};
        }
    }
    return sort { $a->{from} <=> $b->{from} } @terms;
}

# By mode.
sub lost ($self)               { return $self->differing(1) }
sub given_back_in_vain ($self) { return $self->differing(-1) }

# How much more (1) or less (-1) former primaries had at last than their successors at first.
sub differing ($self, $sign) {
    my @terms = $self->terms;
    my %lost  = map { $_ => 0 } $self->modes;
    for my $i (1 .. $#terms) {
        my $inherited = $terms[$i]{inherited} or next;    # it was a primary before, and has come back as one
        my @modes = $self->modes;
        $lost{$modes[$_]} += max(0, $sign * ($terms[$i - 1]{left}[$_] - $inherited->{sums}[$_])) for 0 .. $#modes;
    }
    return \%lost;
}

sub admitted ($self) {
    my %admitted = map { $_ => 0 } $self->modes;
    for my $seen (@{$self->{traffic}->since($self->{admitted_before})}) {
        $admitted{substr $seen->{uri}, 1}++ if $seen->{status} == 200;
    }
    return \%admitted;
}

sub stored ($self) {
    my $primary = $self->{set}->primary;
    return {map { $_ => sum0($primary->used_of("$_/86400", @keys)) } $self->modes};
}

sub doubt ($self) {
    my %doubt = (charges => 0, refunds => 0, reservations => 0);
    my $log   = $self->{nginx}->error_log;
    $doubt{$2} += $1 while $log =~ /rate limit: (\d+) (charges|refunds|reservations) for .* were sent and not answered/g;
    return \%doubt;
}

sub errors ($self, $mark = 0, $mode = '') {
    return scalar grep { $_->{outcome} =~ /ERROR/ && $_->{uri} =~ m{^/$mode} } @{$self->{traffic}->since($mark)};
}

sub recovered ($self) {
    return wait_until {
        my $mark = $self->{traffic}->mark;
        my %seen;
        wait_until {
            %seen = ();
            $seen{substr $_->{uri}, 1}++ for @{$self->{traffic}->since($mark)};
            !grep { ($seen{$_} // 0) < 20 } $self->modes
        } what => 'requests of each mode';
        !$self->errors($mark) && $mark
    } what => 'requests to meet no error any more';
}

my %limited = map { $_ => 1 } '200 PASSED', '429 REJECTED', '529 ERROR_DENIED';

sub served ($self, $what, %opt) {
    $opt{since} = $self->{admitted_before} if defined $opt{since} && $opt{since} == 0;
    if ($self->{limit} == PLENTY) {
        $self->{traffic}->is_served($what, timeout => TIMEOUT, %opt);
        return $self;
    }
    my @wrong = grep { !$limited{$_} } map { "$_->{status} $_->{outcome}" } @{$self->{traffic}->since($opt{since} // 0)};
    is_deeply \@wrong, [], "$what: each request is served as configured";
    return $self;
}

sub rest ($self) {
    write_text("$self->{prefix}.end", '');
    $_->wait(30) or die 'the load does not end' for @{$self->{load}};
    # The books tell what is wrong if it does not come to that.
    eval { wait_until { !$self->waits } what => 'charges that wait' };
    return $self;
}

# Whether charges are neither stored nor accounted for. Tokens that are at hand count as stored.
sub waits ($self) {
    my ($admitted, $stored, $lost) = ($self->admitted, $self->stored, $self->lost);
    my $doubt = sum0(values %{$self->doubt});
    return grep { $_ ne 'lease' && $admitted->{$_} - $doubt - $lost->{$_} > $stored->{$_} } $self->modes;
}

sub balance ($self, %opt) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    $self->rest;
    my $begun = monotonic();
    $self->{nginx}->stop;
    cmp_ok monotonic() - $begun, '<', patience(5), 'nginx stops in time';
    my ($admitted, $stored, $lost, $doubt) = ($self->admitted, $self->stored, $self->lost, $self->doubt);
    my $slack     = $opt{unlogged} // 0;
    my $doubtful  = sum0(values %$doubt);
    my $all_lost  = sum0(values %$lost);
    my $uncertain = $doubt->{reservations} + $doubt->{refunds};
    diag join '; ', (map { "$_: $admitted->{$_} admitted, $stored->{$_} stored, $lost->{$_} lost" } $self->modes),
        'in doubt: ' . join ', ', map { "$doubt->{$_} $_" } sort keys %$doubt;
    my $in_vain = $self->given_back_in_vain->{lease} // 0;
    my %more = (check_charge => 0, charge_refund => $uncertain, lease => LEASE * $uncertain + $in_vain);
    for my $mode ($self->modes) {
        my $unit = $mode eq 'lease' ? LEASE : 1;
        my $known = $unit * $doubtful + ($opt{told} ? 0 : $lost->{$mode});
        cmp_ok $stored->{$mode}, '>=', $admitted->{$mode} - $known - $slack, "$mode: nothing is missing but what is lost or in doubt";
        cmp_ok $stored->{$mode}, '<=', $admitted->{$mode} + $more{$mode} + $slack, "$mode: nothing is stored twice";
        cmp_ok $admitted->{$mode}, '<=', $self->{limit} * @keys + $lost->{$mode} + $unit * $doubtful,
            "$mode: no more is admitted than the limits and what is lost or in doubt" if $self->{limit} != PLENTY;
    }
    is $self->{nginx}->count_log(qr/were dropped|nginx ends|lost as this worker ends/), 0, 'nothing is dropped, nothing waits in the end';
    cmp_ok $all_lost, '<=', $opt{lost}, "$opt{lost} are lost at most" if defined $opt{lost};
    cmp_ok $doubtful, '<=', $opt{doubt}, "$opt{doubt} are in doubt at most" if defined $opt{doubt};
    return $all_lost + $doubtful;
}

1;

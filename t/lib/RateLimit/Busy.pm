package RateLimit::Busy;

# An upstream that takes its time, and counts how many requests of each key it has at a time: those of "?k=KEY". Its answers say nothing.
#
#   my $busy = RateLimit::Busy->start(from => 0.01, to => 0.05);   # seconds that a request takes, at random; "slow=0.3" in its URI: that long
#   $busy->most('a');  $busy->running('a');  $busy->served('a');  $busy->mean('a');      # mean: since the first one, by time
#   $busy->forget_most;                 # from here on, where nothing is to count what was before
#
# A request ends here when its answer is written or its connection has ended: always before nginx learns of it, unless nginx ends it.

use v5.36;

use parent 'RateLimit::Backend';
use RateLimit::Wait qw(monotonic);

sub start ($class, %opt) { return $class->SUPER::start(from => 0.005, to => 0.03, %opt, handler => sub { }) }

for my $what (qw(most running served mean)) {
    no strict 'refs';
    *$what = sub ($self, $key) { return $self->ask('count', $key, $what) };
}

sub forget_most ($self) { return $self->tell('count', '', 'forget') }

# From here on in the child.

sub in_child ($self) {
    $self->{count} = {};
    $self->{handler} = sub ($request, $conn) {
        my ($key)  = $request->{uri} =~ /\bk=([^&]*)/;
        my ($slow) = $request->{uri} =~ /\bslow=([\d.]+)/;
        $self->change($key // '', 1);
        my $place = $conn->place([200, [], '']);
        $conn->{runs}{$place} = $key // '';
        $self->after($slow // $self->{from} + rand($self->{to} - $self->{from}), sub {
            my $runs = delete $conn->{runs}{$place} // return;
            $self->change($runs, -1);
            $place->{ready} = 1;
            $conn->flush;
        });
        return $place;
    };
    return;
}

sub note { return }

sub ended ($self, $conn) {
    $self->change($_, -1) for values %{delete $conn->{runs} // {}};
    return;
}

sub change ($self, $key, $by) {
    my $count = $self->{count}{$key} //= {running => 0, most => 0, served => 0, sum => 0, first => monotonic(), last => monotonic()};
    $self->add_up($count);
    $count->{running} += $by;
    $count->{served}++ if $by > 0;
    $count->{most} = $count->{running} if $count->{running} > $count->{most};
    return;
}

sub add_up ($self, $count) {
    my $now = monotonic();
    $count->{sum} += $count->{running} * ($now - $count->{last});
    $count->{last} = $now;
    return;
}

sub obey ($self, @words) {
    my ($verb, $key, $what) = @words;
    return $self->SUPER::obey(@words) if $verb ne 'count';
    if ($what eq 'forget') {
        $_->{most} = $_->{running} for values %{$self->{count}};
        return 'done';
    }
    my $count = $self->{count}{$key} // return 0;
    return $count->{$what} if $what ne 'mean';
    $self->add_up($count);
    my $time = $count->{last} - $count->{first};
    return $time > 0 ? sprintf('%.2f', $count->{sum} / $time) : 0;
}

1;

package RateLimit::Redis::Sentinel;

# One sentinel of a RateLimit::Sentinels: what RateLimit::Redis offers as far as a sentinel knows the command, up() and restart().
#
#   $sentinel->about('mymaster');              # SENTINEL MASTER as a hash reference, undef for a name that it does not know
#   $sentinel->word('mymaster');               # the address of the primary as it tells clients: host:port
#   $sentinel->replicas_of('mymaster');        # SENTINEL REPLICAS: hash references
#   $sentinel->clients;                        # CLIENT LIST without other sentinels and this connection: hash references. Their cmd is
#                                              # the last command; a sentinel does not count calls: put a RateLimit::Proxy before it
#   $sentinel->keep_pace('info-period' => 100);   # milliseconds, of SENTINEL DEBUG; also after a restart
#
# Option beyond those of RateLimit::Redis::Member: debug => {the same, from the start}.

use v5.36;

use parent 'RateLimit::Redis::Member';
use Carp qw(croak);

sub options ($self) {
    my @options = ('--port', $self->{port}, '--bind', $self->{host}, '--dir', $self->{folder}, '--logfile', "$self->{folder}/log");
    push @options, '--bind', $self->{host}, '-::1' if $self->{name};    # it comes to the servers by either, and tells which
    push @options, '--requirepass', $self->{password} if defined $self->{password};
    push @options, $self->tls_options if $self->{tls};
    push @options, '--tls-replication', 'yes' if $self->by_tls;
    return (@options, @{$self->{args} // []});
}

sub command_line ($self) { return '--sentinel' }

sub wait_ready ($self) {
    $self->wait_answering;
    return $self->keep_pace->forget_calls;
}

sub keep_pace ($self, %periods) {
    my %all = %{$self->{debug}} = (%{$self->{debug}}, %periods);
    $self->cmd('SENTINEL', 'DEBUG', %all) if %all;
    return $self;
}

sub forget_calls ($self) { return $self }
sub calls ($self, @)     { croak 'a sentinel does not count calls' }

sub clients ($self) {
    my $own = $self->cmd('CLIENT', 'ID');
    my @all = map { {map { split /=/, $_, 2 } split / /} } split /\n/, $self->cmd('CLIENT', 'LIST');
    return grep { $_->{id} != $own && $_->{name} !~ /^sentinel-/ } @all;
}

sub about ($self, $master) {
    my $fields = $self->ask('SENTINEL', 'MASTER', $master);
    return ref $fields eq 'ARRAY' ? {@$fields} : undef;
}

sub replicas_of ($self, $master) { return map { {@$_} } @{$self->cmd('SENTINEL', 'REPLICAS', $master)} }

sub word ($self, $master) {
    my $address = $self->ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', $master);
    return ref $address eq 'ARRAY' ? join ':', @$address : '';
}

1;

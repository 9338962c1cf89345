package RateLimit::Soak::Load;

# Requests that go on for as long as a test wants, over reloads and restarts of the nginx that gets them.
#
#   my $load = RateLimit::Soak::Load->start($nginx, connections => 2, rate => 20, uris => ['/x?k=1', ...]);    # rate: a second and connection
#   $load->ask(@uris);         # for these from the next round on
#   $load->stop;               # at the end of the round

use v5.36;

use RateLimit::Folder;
use RateLimit::Process;

my $count = 0;

# Rounds of h2load, each as many requests as there are URIs for each connection: a worker that leaves, or was killed, ends a round early.
# h2load may wait for ever when its connections have ended; it is ended then. A request that nginx has not answered by that time is logged
# with status 499.
sub start ($class, $nginx, %opt) {
    my $self  = bless {prefix => test_folder() . '/soak-load-' . ++$count}, $class;
    my $each  = $self->{prefix};
    my $round = "h2load --h1 -n \$((\$(wc -l < $each) * $opt{connections})) -c $opt{connections} --rps=$opt{rate} -i $each -B http://127.0.0.1:"
        . $nginx->port;
    $self->ask(@{$opt{uris}});
    $self->{process} = RateLimit::Process->start(
        command => ['/bin/sh', '-c', "while [ ! -e $each.end ]; do timeout 10 $round; sleep 0.05; done"], output => '/dev/null', name => 'h2load');
    return $self;
}

sub ask ($self, @uris) { write_text($self->{prefix}, join '', map { "$_\n" } @uris); return }

sub stop ($self) {
    write_text("$self->{prefix}.end", '');
    $self->{process}->wait(40) or die 'the load does not end';
    return;
}

1;

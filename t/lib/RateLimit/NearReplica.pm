package RateLimit::NearReplica;

# A near replica and a far one of a shard, and what must hold of reads, whoever has told nginx of them.
#
#   my ($near, $far) = RateLimit::NearReplica->before(@ports);    # a RateLimit::Proxy each, to the replicas that listen there
#   RateLimit::NearReplica->read($block, $near, $far);            # tests it: $block is the rate_limit_redis "main" that they are in
#
# The console's counts of commands tell where reads went; the time that reads took does not.

use v5.36;

use JSON::PP;
use Test::More ();
use RateLimit::Nginx;
use RateLimit::Proxy;
use RateLimit::Wait;

# The distance is so great that no stall of a busy machine lets the far one look nearer.
use constant {DISTANCE => 0.1, REQUESTS => 200, FEW => 4};

sub before ($class, $near, $far) {
    return (RateLimit::Proxy->start(to => $near), RateLimit::Proxy->start(to => $far, distance => patience(DISTANCE)));
}

sub read ($class, $block, $near, $far) {
    my $nginx = RateLimit::Nginx->start(http => $block, server => 'location /limits/ { rate_limit_console view; }
        location / { rate_limit_key $arg_k; rate_limit 1000000r/h store=main; add_header X-Outcome $rate_limit_status always; }');
    my $self  = bless {nginx => $nginx, client => $nginx->http, near => $near, far => $far}, $class;
    wait_until { 2 == grep { defined $self->node($_)->{answer_time} } $near, $far } what => 'both to be connected before any request';
    $self->ask(1);    # opens the window
    $self->goes_to('near', REQUESTS, 'reads go to the near replica');
    $near->stop;
    $self->goes_to('far', FEW, 'it is cut off: to the far one');
    $near->restart;
    my $before = $self->commands('near');
    wait_until { $self->ask(1); $self->commands('near') > $before } what => 'the near one to be read again';
    $self->goes_to('near', REQUESTS, 'it is back: to it again');
    Test::More::is($nginx->count_log(qr/could not be checked/), 0, 'no request was decided by rate_limit_on_error');
    return;
}

sub ask ($self, $requests) {
    my @passed = grep { $_->status == 200 && $_->header('X-Outcome') eq 'PASSED' } map { $self->{client}->get('/x?k=a') } 1 .. $requests;
    return scalar @passed;
}

sub goes_to ($self, $which, $requests, $what) {
    my ($other) = grep { $_ ne $which } qw(near far);
    my %before  = map { $_ => $self->commands($_) } $which, $other;
    Test::More::is($self->ask($requests), $requests, "$what: all pass");
    Test::More::is($self->commands($which) - $before{$which}, $requests, '... each asked it');
    return if $which eq 'far';    # the near one may have been asked before its end was seen
    return Test::More::is($self->commands($other) - $before{$other}, 0, '... and none the other');
}

sub commands ($self, $which) { return $self->node($self->{$which})->{commands} }

sub node ($self, $proxy) {
    my @stores = @{decode_json($self->{nginx}->get('/limits/json')->body)->{stores}};
    my ($node) = grep { $_->{address} eq $proxy->address } map { @{$_->{nodes}} } map { @{$_->{shards}} } @stores;
    return $node // {};
}

1;

package RateLimit::WithoutRoom;

# A site whose charges find no room in the zone. Its two stores, s0 and s1, have a server each, which die: charges for s0 fill the zone, and those
# for s1 wait in their worker.
#
#   my $site = RateLimit::WithoutRoom->open;       # nginx runs, with location /s0 for s0 and /s1 for s1
#   $site->fill;                   # both servers die; charges come, of 2000 windows and of 200: the zone has room for 644 of them
#   $site->make_room;              # s0's server is back, and has all of its charges
#   $site->wait_moved;             # until those of s1 are in the zone
#   $site->at(0);                  # the number that a server has, by default s1's
#   $site->http($server);          # nginx's configuration, where s1 is another server
#   $site->come('/s0', 10);        # requests of so many keys; how many pass
#   $site->waiting('s1');          # windows that wait in the zone for a store's first shard
#   $site->told_lost;              # windows whose charges are lost, by the log of workers that end, of either kind: {here, zone}
#   $site->nginx;  $site->server(1);
#
# Options: server => TEXT (more of nginx's configuration), between => TEXT (more stores, between s0 and s1), zone => '1m'.

use v5.36;

use List::Util qw(sum0);
use Test::More;
use RateLimit::Nginx;
use RateLimit::Redis;
use RateLimit::Shards;
use RateLimit::Wait;

use constant {FILLING => 2000, WINDOWS => 200};

sub open ($class, %opt) {
    my $self = bless {server => '', between => '', zone => '1m', servers => [map { RateLimit::Redis->start } 0 .. 1], %opt}, $class;
    my $limit = 'rate_limit 1000r/h; rate_limit_on_error allow;';
    $self->{nginx} = RateLimit::Nginx->start(
        http   => $self->http,
        server => join(' ', map { "location /s$_ { $limit rate_limit_store s$_; }" } 0 .. 1)
            . " location /limits/ { rate_limit off; rate_limit_console view; } $self->{server}",
    );
    return $self;
}

sub http ($self, $second = $self->{servers}[1]) {
    return "rate_limit_zone $self->{zone}; keepalive_requests 1000000; rate_limit_key \$arg_k; "
        . redis_block('s0', $self->{servers}[0]) . $self->{between} . redis_block('s1', $second);
}

sub nginx ($self) { return $self->{nginx} }
sub server ($self, $n) { return $self->{servers}[$n] }

sub waiting ($self, $name) { return $self->nginx->waiting($name) }

sub come ($self, $uri, $count) {
    my $http = $self->nginx->http;
    my @all  = map { ['GET', "$uri?k=$_"] } 1 .. $count;
    my $passed = 0;
    while (my @some = splice @all, 0, 100) {
        $passed += grep { $_->status == 200 } $http->pipeline(@some);
    }
    return $passed;
}

sub fill ($self) {
    $_->kill for @{$self->{servers}};
    is $self->come('/s0', FILLING), FILLING, 'charges fill the zone';
    is $self->come('/s1', WINDOWS), WINDOWS, 'others come';
    cmp_ok $self->waiting('s1'), '<', WINDOWS, 'and find no room';
    return $self;
}

sub at ($self, $n = 1) { return sum0($self->server($n)->used_of('default/3600', 1 .. ($n == 0 ? FILLING : WINDOWS))) }

sub make_room ($self) {
    $self->server(0)->restart;
    wait_until { $self->at(0) == FILLING } what => 'the charges that fill the zone to arrive';
    return $self;
}

sub wait_moved ($self) {
    wait_until { $self->waiting('s1') == WINDOWS } what => 'all of them to be in the zone';
    return $self;
}

sub told_lost ($self) {
    my $log = $self->nginx->error_log;
    return {
        here => sum0($log =~ /charges of (\d+) windows for .* are lost as this worker ends/g),
        zone => sum0($log =~ /former "rate_limit_zone" ends while \d+ charges of (\d+) windows, and refunds of 0, wait there/g),
    };
}

1;

package RateLimit::Stall;

# A worker that is stopped past check_timeout while a request waits for Redis, whose answer comes just after the worker goes on.
#
#   my $stall = RateLimit::Stall->start;
#   $stall->outcome('/x');             # 'PASSED, blamed 0': what the request got, and how often Redis was blamed
#   $stall->outcome('/x', 'new');      # with a second request, which begins just before the answer comes
#
# /x checks a replica; /reserve is of charge_refund.

use strict;
use warnings;
use feature 'signatures';

use RateLimit::FakeRedis;
use RateLimit::Nginx;
use RateLimit::Shards;
use RateLimit::Wait;

sub start ($class) {
    my $reset = (time + 1800) . '000';
    my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
        return fallback($words) if $words->[0] !~ /^(?:hmget|hincrby|evalsha)$/;
        my $answer = $words->[0] eq 'hmget' ? hmget(7, $reset)
            : $words->[0] eq 'hincrby' ? integer(9) : array(integer(1), integer(8), integer($reset));
        return $conn->state('held') && "@$words" =~ /:held\b/ ? $conn->hold('gate', $answer) : $answer;
    });
    my $nginx = RateLimit::Nginx->start(
        http   => redis_block('main', $redis, 'check_timeout 500ms; connect_timeout 2s;'),
        server => 'rate_limit_key $http_x_key; rate_limit_store main; rate_limit_on_error deny; rate_limit_exempt_status 200;
            add_header X-Outcome $rate_limit_status always;
            location / { rate_limit 1000r/h; } location /reserve { rate_limit 1000r/h name=r mode=charge_refund; }
            location /free { rate_limit off; }',
    );
    return bless {redis => $redis, nginx => $nginx, worker => $nginx->workers}, $class;
}

sub outcome ($self, @request) {
    return wait_until { $self->round(@request) } what => 'a round in time';
}

# Undef where the machine was too slow for the answer to come within the grace.
sub round ($self, $uri, @new) {
    my ($redis, $nginx) = @$self{qw(redis nginx)};
    $nginx->get('/x', 'X-Key' => 'other');    # Redis is up
    my $blamed = sub { $nginx->count_log(qr/does not serve|is down|could not be checked/) };
    my $before = $blamed->();
    $redis->forget;
    $redis->set(held => 1);
    my $asked   = monotonic();
    my @clients = $nginx->begin($uri, 'X-Key' => 'held');
    wait_until { $uri eq '/x' ? $redis->commands('hmget') : $redis->writes } what => 'what it asks';
    kill STOP => $self->{worker};
    my $in_time = monotonic() - $asked < 0.15;
    let_pass(0.7);
    kill CONT => $self->{worker};
    my $woken = monotonic();
    push @clients, map { $nginx->begin($uri, 'X-Key' => $_) } @new;
    $nginx->get('/free');                     # it runs again
    let_pass(0.02) if @new;
    $redis->set(held => 0);
    $redis->release('gate');
    $in_time &&= monotonic() - $woken < 0.06;
    my $outcomes = join ' ', map { $_->response->header('X-Outcome') } @clients;
    return $in_time ? "$outcomes, blamed " . ($blamed->() - $before) : undef;
}

1;

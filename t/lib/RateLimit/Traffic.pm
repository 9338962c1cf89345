package RateLimit::Traffic;

# Requests that go on in the background while a test does things to the servers.
#
#   my $traffic = RateLimit::Traffic->start($nginx, connections => 8, requests => [['/x', 'X-Key' => 'a'], ...]);
#   my $seen = $traffic->mark;         # a place in what nginx has logged so far
#   $traffic->since($seen);            # requests that ended since: [{status, outcome, wait, took, uri, key}, ...]
#   $traffic->more(200);               # waits for that many further requests
#   $traffic->is_served('what', timeout => 0.6);    # tests what each got that ended since the last such test: see below;
#                                      # since => $seen: since then
#   $traffic->unanswered;              # requests without a response; after stop
#   $traffic->stop;                    # waits for those under way
#
#   my $nginx = RateLimit::Traffic->nginx(http => ..., ...);    # an nginx of RateLimit::Nginx, with the log that this needs
#   RateLimit::Traffic->start($nginx, uris => ['/x'], keys => ['a'], ...);     # for the default requests: each uri of each key
#   RateLimit::Traffic->made_by_others($nginx);    # makes no requests: mark, since, more and is_served of those that come
#
# nginx(key => '$arg_k', ...): what tells clients apart, and is logged as key; default: $http_x_key.
# Without a server's text there are /x, which allows where nobody can be asked, and /deny, which denies; they are the default
# uris, and k1 to k10 the default keys. wait is $rate_limit_store_time, took the whole request's time by nginx's clock.

use v5.36;

use Test::More;
use RateLimit::Folder;
use RateLimit::Load;
use RateLimit::Nginx;
use RateLimit::Process;
use RateLimit::Wait;

my $count = 0;

sub log_format ($key = '$http_x_key') {
    return qq{log_format traffic "\$status \$rate_limit_status \$rate_limit_store_time \$request_time \$uri $key";};
}

sub access_log () { return 'access_log %%DIR%%/traffic traffic; keepalive_requests 1000000;' }

sub nginx ($class, %opt) {
    my $server = $opt{server}
        // 'rate_limit 1000000r/h store=main; location / {} location /deny { rate_limit_on_error deny; }';
    my $key = delete $opt{key} // '$http_x_key';
    return RateLimit::Nginx->start(%opt, http => log_format($key) . $opt{http},
        server => access_log() . "rate_limit_key $key; rate_limit_error_status 529; $server");
}

sub made_by_others ($class, $nginx) { return bless {log => $nginx->folder . '/traffic', judged => 0}, $class }

sub keys ($class) { return map { "k$_" } 1 .. 10 }

sub start ($class, $nginx, %load) {
    my ($uris, $keys) = (delete $load{uris} // ['/x', '/deny'], delete $load{keys} // [$class->keys]);
    $load{requests} //= [map { my $key = $_; map { [$_, 'X-Key' => $key] } @$uris } @$keys];
    my $prefix = test_folder() . '/traffic-' . ++$count;
    my $self = bless {prefix => $prefix, log => $nginx->folder . '/traffic'}, $class;
    $self->{judged} = $self->mark;
    my @load = (port => $nginx->port, connections => 8, %load);
    $self->{process} = RateLimit::Process->start(name => 'traffic', run => sub {
        while (!-e "$prefix-stop") {
            my $unanswered = grep { !$_->status } parallel(@load);
            next if !$unanswered;
            open my $file, '>>', "$prefix-unanswered" or die $!;
            print {$file} "$unanswered\n";
        }
    });
    return $self;
}

sub stop ($self) {
    open my $file, '>', "$self->{prefix}-stop" or die $!;
    $self->{process}->wait(30) or die 'the traffic does not end';
    return $self;
}

sub mark ($self) { return -s $self->{log} }

# A worker that was killed may have left half a line.
sub since ($self, $mark) {
    open my $file, '<', $self->{log} or die $!;
    seek $file, $mark, 0;
    my @requests;
    while (defined(my $line = <$file>)) {
        $line =~ /^(\d{3}) (\S*) (\S*) (\S*) (\S*) (\S*)\n/ or next;
        push @requests, {status => $1, outcome => $2, wait => $3, took => $4, uri => $5, key => $6};
    }
    return \@requests;
}

sub more ($self, $requests, %wait) {
    my $mark = $self->mark;
    wait_until { @{$self->since($mark)} >= $requests } timeout => 10, what => "$requests further requests", %wait;
    return $self;
}

# A request is answered as its outcome demands. /deny denies with 529 where nobody can be asked, all others allow; /full is
# over its limit. None waits for the store longer than check_timeout, plus two seconds that a busy machine may take. passes => 1: none
# remains unchecked.
my %expected = (
    '/deny' => qr/^(?:200 PASSED|529 ERROR_DENIED)$/,
    '/full' => qr/^(?:429 REJECTED|200 ERROR_ALLOWED)$/,
);
my $allowed = qr/^200 (?:PASSED|ERROR_ALLOWED)$/;

sub is_served ($self, $what, %opt) {
    my $mark = $opt{since} // $self->{judged};
    wait_until { @{$self->since($mark)} >= 20 } timeout => 10, what => "requests while $what";
    $self->{judged} = $self->mark;
    my $seen  = $self->since($mark);
    my @wrong = grep { $_->[1] !~ ($expected{$_->[0]} // $allowed) } map { [$_->{uri}, "$_->{status} $_->{outcome}"] } @$seen;
    is_deeply \@wrong, [], "$what: " . @$seen . ' requests, each served as configured';
    my ($longest) = sort { $b <=> $a } grep { /\d/ } 0, map { $_->{wait} } @$seen;
    cmp_ok $longest, '<', patience($opt{timeout} + 2), "$what: none waits longer than check_timeout";
    diag sprintf '%s: %d requests, the longest %.0f ms', $what, scalar @$seen, 1000 * $longest;
    my $errors = grep { $_->{outcome} =~ /ERROR/ } @$seen;
    is $errors, 0, "$what: every check is answered" if $opt{passes};
    return $self;
}

sub unanswered ($self) {
    my $sum = 0;
    $sum += $_ for split ' ', -e "$self->{prefix}-unanswered" ? read_text("$self->{prefix}-unanswered") : '';
    return $sum;
}

1;

package RateLimit::Response;

# An HTTP response, and reading one from bytes.
#
#   $r->status  $r->body  $r->json (the body, decoded)  $r->header('name')  $r->all('name')  $r->headers  ([name, value], ...)
#   $r->raw_head     # status line and headers as they came
#   $r->date         # when it was made, by the server's clock: seconds since the epoch
#   limits($r)       # {limit, used, remaining, reset, resource, retry_after}: what the github headers say;
#                    # a header that is absent is absent here; one that came twice dies
#   shows($r, 429, {used => 5, retry_after => undef}, 'what')    # tests its status and what its headers say of these; {}: that
#                    # it has none of them
#   outcome($r)      # "200 PASSED": its status and X-Outcome, which the test's nginx sets to $rate_limit_status
#   workers_of(@r)   # the workers that made them, each once, by X-Worker, which the test's nginx sets to $pid
#   outcomes(@r)     # {'200 PASSED' => 5, ...}
#   RateLimit::Response->take(\$buffer, method => 'HEAD', eof => 1)   # undef while incomplete

use v5.36;

use Carp qw(croak);
use Exporter 'import';
use JSON::PP;
use List::Util ();
use Test::More ();
use Time::Local qw(timegm);

our @EXPORT = qw(limits shows outcome outcomes workers_of);

sub status ($self)   { return $self->{status} }
sub body ($self)     { return $self->{body} }
sub json ($self)     { return decode_json($self->{body}) }
sub raw_head ($self) { return $self->{head} }

sub headers ($self) {
    my @lines = (split /\r\n/, $self->{head})[1 .. $self->{lines}];
    return @{$self->{headers} //= [map { [split /:\s*/, $_, 2] } @lines]};
}

sub all ($self, $name) { return map { $_->[1] } grep { lc $_->[0] eq lc $name } $self->headers }

sub header ($self, $name) { return ($self->all($name))[0] }

my %month;
@month{qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)} = 0 .. 11;

sub date ($self) {
    my ($day, $month, $year, @time) = $self->header('Date') =~ /(\d+) (\w+) (\d+) (\d+):(\d+):(\d+) GMT$/;
    return timegm(reverse(@time), $day, $month{$month}, $year);
}

sub take ($class, $buffer, %opt) {
    while (1) {
        my $end = index $$buffer, "\r\n\r\n";
        return if $end < 0;
        my $head = substr $$buffer, 0, $end + 2;
        $head =~ m{^HTTP/[\d.]+ (\d{3})} or croak "not a response: $head";
        my $status = $1;
        if ($status < 200 && $status != 101) {
            substr $$buffer, 0, $end + 4, '';
            next;
        }
        my ($body, $length) = body_of($buffer, $end + 4, $head, $status, %opt);
        return if !defined $body;
        substr $$buffer, 0, $end + 4 + $length, '';
        my $lines = ($head =~ tr/\n//) - 1;
        return bless {status => $status, head => $head, lines => $lines, body => $body}, $class;
    }
}

# The body and how many bytes it took, nothing while it is incomplete.
sub body_of ($buffer, $start, $head, $status, %opt) {
    return ('', 0) if ($opt{method} // '') eq 'HEAD' || $status == 204 || $status == 304;
    if ($head =~ /\r\nTransfer-Encoding:\s*chunked\r/i) {
        my ($at, $body) = ($start, '');
        while (1) {
            pos($$buffer) = $at;
            $$buffer =~ /\G([0-9a-fA-F]+)[^\r\n]*\r\n/gc or return;
            my ($size, $from) = (hex $1, pos $$buffer);
            return if length $$buffer < $from + $size + 2;
            $body .= substr $$buffer, $from, $size;
            $at = $from + $size + 2;
            return ($body, $at - $start) if $size == 0;
        }
    }
    if ($head =~ /\r\nContent-Length:\s*(\d+)/i && $head !~ m{^HTTP/2}) {
        return if length $$buffer < $start + $1;
        return (substr($$buffer, $start, $1), $1);
    }
    return if !$opt{eof};
    return (substr($$buffer, $start), length($$buffer) - $start);
}

# True when the server will not take another request on this connection.
sub closes ($self) { return $self->{head} =~ /\r\nConnection:\s*close\r/i || $self->{head} =~ m{^HTTP/1\.0} }

my %limit_header = (
    limit    => 'X-RateLimit-Limit', used => 'X-RateLimit-Used', remaining => 'X-RateLimit-Remaining',
    reset    => 'X-RateLimit-Reset', resource => 'X-RateLimit-Resource', retry_after => 'Retry-After',
);

sub limits ($response) {
    my %found;
    while (my ($name, $header) = each %limit_header) {
        my @values = $response->all($header);
        croak "$header came " . @values . ' times' if @values > 1;
        $found{$name} = $values[0] if @values;
    }
    keys %limit_header;
    return \%found;
}

sub shows ($response, $status, $expected, $what) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my %shown = %{limits($response)};
    my %asked = %$expected ? map { $_ => $shown{$_} } keys %$expected : %shown;
    return Test::More::is_deeply({status => $response->status, %asked}, {status => $status, %$expected}, $what);
}

sub outcome ($response) { return join ' ', $response->status, $response->header('X-Outcome') // '-' }

sub workers_of (@responses) { return List::Util::uniq(map { $_->header('X-Worker') } @responses) }

sub outcomes (@responses) {
    my %count;
    $count{outcome($_)}++ for @responses;
    return \%count;
}

1;

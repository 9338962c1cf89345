package RateLimit::Backend;

# An HTTP upstream.
#
#   my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) {
#       return [304, ['ETag' => '"a"']] if $request->{uri} eq '/same';
#       return $conn->hold('gate', [200, [], 'slow']) if $request->{uri} eq '/slow';
#       return [200, ['X-Cost' => 5], 'body'];
#   });
#   $backend->requests;      # ([METHOD, URI, BODY], ...) received
#   $backend->release('gate');
#
# A request has method, uri, headers (names in lower case), body. A handler returns [STATUS, HEADERS, BODY]
# or raw bytes. Without a handler the answer is 200 and the URI, unless the URI asks for more: "status=304" or "/304", "cost=5"
# (a header X-Cost), "slow" (when the test releases 'gate'), "silent" (never). See RateLimit::Server for the rest.

use v5.36;

use parent 'RateLimit::Server';

sub received ($self, $conn) {
    while ((my $end = index $conn->{in}, "\r\n\r\n") >= 0) {
        my ($first, @lines) = split /\r\n/, substr $conn->{in}, 0, $end;
        my %headers = map { /^([^:]+):\s*(.*)/ ? (lc $1 => $2) : () } @lines;
        my $length  = $headers{'content-length'} // 0;
        return if length $conn->{in} < $end + 4 + $length;
        my $body = substr $conn->{in}, $end + 4, $length;
        substr $conn->{in}, 0, $end + 4 + $length, '';
        my ($method, $uri) = split / /, $first;
        $self->note($method, $uri, $body);
        $conn->close if $first =~ m{HTTP/1\.0$} || lc($headers{connection} // '') eq 'close';
        $conn->answer($self->{handler} // \&as_asked,
            {method => $method, uri => $uri, headers => \%headers, body => $body});
        return if $conn->{gone};
    }
    return;
}

sub as_asked ($request, $conn) {
    my $uri    = $request->{uri};
    my @cost   = $uri =~ /cost=(\w+)/ ? ('X-Cost' => $1) : ();
    my $answer = [$uri =~ m{(?:status=|/)(\d{3})\b} ? $1 : 200, \@cost, $uri];
    return if $uri =~ /silent/;
    return $uri =~ /slow/ ? $conn->hold('gate', $answer) : $answer;
}

sub encode ($self, $value) {
    return $value if !ref $value;
    my ($status, $headers, $body) = @$value;
    my @headers = @{$headers // []};
    my $text    = "HTTP/1.1 $status Status\r\n";
    while (my ($name, $field) = splice @headers, 0, 2) {
        $text .= "$name: $field\r\n";
    }
    $body //= '';
    $text .= 'Content-Length: ' . length($body) . "\r\n" if $status != 204 && $status != 304;
    return "$text\r\n" . ($status == 204 || $status == 304 ? '' : $body);
}

sub requests ($self) { return $self->records }

1;

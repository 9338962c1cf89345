# Fields of requests and of responses behind fastcgi_pass, uwsgi_pass and scgi_pass: the upstream gets the body as it was
# sent, and what its response says is charged.

use RateLimit::Test;

my $usage = '{"usage":{"total_tokens":42}}';
# The answer of each of the three servers, which tells the length of the body that the server got.
sub answer ($body) { return "Status: 200 OK\r\nContent-Type: application/json\r\nX-Length: " . length($body) . "\r\n\r\n$usage" }

package Fastcgi {
    use v5.36;
    use parent -norequire, 'RateLimit::Server';

    sub record ($type, $text) { return pack('CCnnCC', 1, $type, 1, length $text, 0, 0) . $text }

    sub received ($self, $conn) {
        while (length $conn->{in} >= 8) {
            my (undef, $type, undef, $length, $padding) = unpack 'CCnnC', $conn->{in};
            return if length $conn->{in} < 8 + $length + $padding;
            my $text = substr $conn->{in}, 8, $length;
            substr $conn->{in}, 0, 8 + $length + $padding, '';
            next if $type != 5;    # FCGI_STDIN, of which an empty one is the last
            $conn->{body} .= $text;
            next if $length;
            $conn->answer(sub (@) { return record(6, main::answer($conn->{body} // '')) . record(6, '') . record(3, "\0" x 8) });
            return $conn->close;
        }
        return;
    }
}

# The body behind so many bytes of variables.
sub take ($conn, $at, $length) {
    return if length $conn->{in} < $at + $length;
    my $body = substr $conn->{in}, $at, $length;
    $conn->answer(sub (@) { return answer($body) });
    return $conn->close;
}

package Uwsgi {
    use v5.36;
    use parent -norequire, 'RateLimit::Server';

    sub received ($self, $conn) {
        return if length $conn->{in} < 4;
        my $size = unpack 'x v', $conn->{in};
        return if length $conn->{in} < 4 + $size;
        my %variables = unpack '(v/a)*', substr $conn->{in}, 4, $size;
        return main::take($conn, 4 + $size, $variables{CONTENT_LENGTH} || 0);
    }
}

package Scgi {
    use v5.36;
    use parent -norequire, 'RateLimit::Server';

    sub received ($self, $conn) {
        return if $conn->{in} !~ /^(\d+):/;
        my ($at, $size) = (length($1) + 1, $1);
        return if length $conn->{in} < $at + $size + 1;
        my %variables = substr($conn->{in}, $at, $size) =~ /([^\0]*)\0([^\0]*)\0/g;
        return main::take($conn, $at + $size + 1, $variables{CONTENT_LENGTH} || 0);
    }
}

package main;

my %server = (fastcgi => Fastcgi->start, uwsgi => Uwsgi->start, scgi => Scgi->start);
my $nginx  = RateLimit::Nginx->start(
    http => 'log_format ends "$request_uri $status $model tokens=$tokens cost=$rate_limit_cost";
        rate_limit_request_field $model model; rate_limit_response_field $tokens usage.total_tokens;',
    server => 'access_log %%DIR%%/ends ends; rate_limit_key $model; client_body_buffer_size 8k; client_max_body_size 1m;
        rate_limit 1000r/h mode=charge_refund cost=$tokens reserve=10;'
        . join '', map { my $name = $_; map {
            my $at = $_ ? "$name-direct" : $name;
            "location /$at/ { ${name}_pass " . $server{$name}->address . '; ' . ($_ ? "${name}_request_buffering off; " : '')
                . "${name}_param CONTENT_LENGTH \$content_length; ${name}_param REQUEST_METHOD \$request_method; }\n" } 0, 1
        } sort keys %server,
);

my @json = ('Content-Type' => 'application/json');
my $used = 0;
for my $at (map { ($_, "$_-direct") } sort keys %server) {
    for my $size (0, 100_000) {
        my $body = '{"text":"' . 'x' x $size . '","model":"gpt"}';
        my $response = $nginx->post("/$at/$size", $body, @json);
        is $response->body, $usage, "$at, $size bytes: the response passes";
        is $response->header('X-Length'), length $body, '... and so did the request';
        wait_until { ($nginx->lines('ends'))[-1] eq "/$at/$size 200 gpt tokens=42 cost=42" } what => 'its line of the log';
        is limits($response)->{used}, $used + 10, '... the reservation counts';
        $used += 42;
    }
}

done;

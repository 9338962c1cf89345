package RateLimit::RESP;

# The Redis protocol, version 2. Values: integers and strings as scalars, nil as undef, arrays as
# array references, errors as RateLimit::RESP::Error objects, which read as their text.
#
#   my $bytes = RateLimit::RESP::encode('SET', 'key', 'value');
#   my $taken = RateLimit::RESP::take(\$buffer);      # [VALUE], undef while incomplete
#   my $bytes = RateLimit::RESP::reply(['bulk', undef, integer(1), [status('OK'), error('ERR no')]]);

use v5.36;

sub encode (@words) { return join '', '*' . @words . "\r\n", map { '$' . length($_) . "\r\n$_\r\n" } @words }

sub reply ($value) {
    return "\$-1\r\n" if !defined $value;
    return '*' . @$value . "\r\n" . join '', map { reply($_) } @$value if ref $value eq 'ARRAY';
    return $value->{type} . "$value->{text}\r\n" if ref $value;
    return '$' . length($value) . "\r\n$value\r\n";
}

sub integer ($number) { return bless {type => ':', text => $number}, 'RateLimit::RESP::Line' }
sub status ($text)    { return bless {type => '+', text => $text}, 'RateLimit::RESP::Line' }
sub error ($text)     { return bless {type => '-', text => $text}, 'RateLimit::RESP::Error' }

sub take ($buffer) {
    pos($$buffer) = 0;
    my $value = value($buffer) or return;
    substr $$buffer, 0, pos $$buffer, '';
    return $value;
}

# Takes all values that are complete, at once: cheaper than take() for long pipelines.
sub take_all ($buffer) {
    my ($end, @values) = (0);
    pos($$buffer) = 0;
    while (my $value = value($buffer)) {
        push @values, $value->[0];
        $end = pos $$buffer;
    }
    substr $$buffer, 0, $end, '';
    return @values;
}

sub value ($buffer) {
    $$buffer =~ /\G([-+:\$*])([^\r\n]*)\r\n/gc or do {
        die 'not RESP: ' . substr $$buffer, pos $$buffer, 40 if $$buffer =~ /\G[^-+:\$*]/;
        return;
    };
    my ($type, $text) = ($1, $2);
    return [$text] if $type eq ':' || $type eq '+';
    return [error($text)] if $type eq '-';
    return [undef] if $text < 0;
    if ($type eq '$') {
        my $start = pos $$buffer;
        return if length $$buffer < $start + $text + 2;
        pos($$buffer) = $start + $text + 2;
        return [substr $$buffer, $start, $text];
    }
    my @items;
    for (1 .. $text) {
        my $item = value($buffer) or return;
        push @items, $item->[0];
    }
    return [\@items];
}

package RateLimit::RESP::Error;

use v5.36;
use overload '""' => sub { $_[0]{text} }, bool => sub { 1 }, fallback => 1;

1;

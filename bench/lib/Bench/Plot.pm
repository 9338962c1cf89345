package Bench::Plot;

# Draws the share of requests that reach Redis over time, on a logarithmic scale, as SVG.
#
#   my $svg = Bench::Plot::svg(bins => [{from, to, requests, calls}, ...], title => TEXT, setting => TEXT,
#       seconds => N, marks => [[SECOND, TEXT], ...]);
#
# It has no background, and colours that can be read on a light and on a dark one.

use strict;
use warnings;
use utf8;
use feature 'signatures';

use constant {
    WIDTH => 760, HEIGHT => 360, LEFT => 64, RIGHT => 20, TOP => 62, BOTTOM => 72,
    MOST  => 2, DECADES => 4,    # 10**MOST percent, and so many powers of ten below
    NONE  => 14,                 # below the axis: where nothing reached Redis
};

my ($grey, $blue, $orange) = ('#7a7a7a', '#2f7fe0', '#d9730d');

sub svg (%of) {
    my $x = sub ($second) { LEFT + $second / $of{seconds} * (WIDTH - LEFT - RIGHT) };
    my @parts = (
        text(LEFT, 18, $of{title}, 'font-size="15" font-weight="bold"'), text(LEFT, 36, $of{setting}),
        grid($x, $of{seconds}), (map { mark($x, @$_) } @{$of{marks}}), curves($x, @{$of{bins}}),
    );
    my ($width, $height) = (WIDTH, HEIGHT);
    return join "\n",
        qq{<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height"}
        . qq{ font-family="sans-serif" font-size="12" fill="$grey" role="img">},
        "<title>$of{title}; $of{setting}</title>", @parts, "</svg>\n";
}

sub floor_y () { return HEIGHT - BOTTOM }

sub y_of ($share) {
    my $decades = MOST - log(100 * $share) / log 10;
    return TOP + $decades / DECADES * (floor_y() - TOP);
}

sub text ($x, $y, $text, $more = '') {
    return sprintf '<text x="%.0f" y="%.0f" %s>%s</text>', $x, $y, $more, $text =~ s/&/&amp;/gr =~ s/</&lt;/gr;
}

sub line ($x1, $y1, $x2, $y2, $more) {
    return sprintf '<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" %s/>', $x1, $y1, $x2, $y2, $grey, $more;
}

sub grid ($x, $seconds) {
    my ($right, $floor) = (WIDTH - RIGHT, floor_y());
    my @parts = line(LEFT, $floor, $right, $floor, '');
    for my $power (reverse MOST - DECADES .. MOST) {
        my $y = y_of(10**($power - 2));
        push @parts, line(LEFT, $y, $right, $y, 'opacity=".3"'),
            text(LEFT - 8, $y + 4, 10**$power . '%', 'text-anchor="end"');
    }
    push @parts, text(LEFT - 8, $floor + NONE + 4, 'none', 'text-anchor="end"');
    for (my $second = 0; $second <= $seconds; $second += 10) {
        push @parts, line($x->($second), $floor, $x->($second), $floor + 5, ''),
            text($x->($second), $floor + NONE + 20, $second, 'text-anchor="middle"');
    }
    push @parts, text((LEFT + $right) / 2, HEIGHT - 8, 'seconds since the first request', 'text-anchor="middle"'),
        sprintf '<text transform="translate(14 %.0f) rotate(-90)" text-anchor="middle">of all requests</text>',
        (TOP + $floor) / 2;
    return @parts;
}

sub mark ($x, $second, $text) {
    return (
        line($x->($second), TOP - 14, $x->($second), floor_y(), 'stroke-dasharray="4 3"'),
        text($x->($second) - 4, TOP - 5, $text, 'text-anchor="end"'),
    );
}

# A point for each time between two samples, and the line of all until then.
sub curves ($x, @bins) {
    my ($points, $line, $calls, $requests) = ('', '', 0, 0);
    for my $bin (@bins) {
        my $middle = $x->(($bin->{from} + $bin->{to}) / 2);
        my $y = $bin->{calls} ? y_of($bin->{calls} / $bin->{requests}) : floor_y() + NONE;
        $points .= sprintf 'M%.1f %.1fh0', $middle, $y;
        $calls    += $bin->{calls};
        $requests += $bin->{requests};
        $line .= sprintf '%s%.1f %.1f', $line ? 'L' : 'M', $x->($bin->{to}), y_of($calls / $requests) if $calls;
    }
    my $legend = WIDTH - RIGHT;
    return (
        qq{<path d="$line" fill="none" stroke="$orange" stroke-width="2"/>},
        qq{<path d="$points" fill="none" stroke="$blue" stroke-width="5" stroke-linecap="round"/>},
        text($legend, 18, 'in half a second', qq{text-anchor="end" fill="$blue"}),
        text($legend, 36, 'since the start',  qq{text-anchor="end" fill="$orange"}),
    );
}

1;

package Bench::Chart;

# Draws lines over a logarithmic axis, as SVG, in the manner of Bench::Plot.
#
#   my $svg = Bench::Chart::svg(title => TEXT, setting => TEXT, x => {title => TEXT, at => [1, 10, 100]},
#       y => {title => TEXT, at => [0, 1, 2], log => 1, format => '%g'},
#       lines => [{name => TEXT, colour => 'blue', dash => '4 3', points => [[x, y, worst], ...]}, ...]);
#
# `at` are the marks of an axis, the first and the last are its ends; what lies beyond is drawn at the end, and 0 below a logarithmic one. A bar
# goes from a point up to its worst. It has no background, and colours that can be read on a light and on a dark one.

use strict;
use warnings;
use utf8;
use feature 'signatures';

use constant {WIDTH => 760, HEIGHT => 380, LEFT => 70, RIGHT => 240, TOP => 62, BOTTOM => 74, NONE => 14};

my $grey   = '#7a7a7a';
my %colour = (blue => '#2f7fe0', orange => '#d9730d', green => '#2e9e5b', purple => '#b0489a', grey => $grey);

sub svg (%of) {
    my $x = axis(LEFT + 24, WIDTH - RIGHT - 24, 1, @{$of{x}{at}});
    my $y = axis(HEIGHT - BOTTOM, TOP, $of{y}{log}, @{$of{y}{at}});
    my $row   = 0;
    my $none  = grep { grep { $_->[1] == 0 } @{$_->{points}} } @{$of{lines}};
    my @parts = (
        text(LEFT, 18, $of{title}, 'font-size="15" font-weight="bold"'), text(LEFT, 36, $of{setting}),
        grid($x, $y, $of{x}, {%{$of{y}}, none => $none && $of{y}{log}}), (map { curve($x, $y, $_, $row++) } @{$of{lines}}),
    );
    my ($width, $height) = (WIDTH, HEIGHT);
    return join "\n",
        qq{<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height"}
        . qq{ font-family="sans-serif" font-size="12" fill="$grey" role="img">},
        '<title>' . escaped("$of{title}; $of{setting}") . '</title>', @parts, "</svg>\n";
}

# Returns the positions of values between the two ends of an axis.
sub axis ($from, $to, $log, @at) {
    my $scale = sub ($value) { $log ? log($value) : $value };
    my ($least, $most) = @at[0, -1];
    return sub ($value) {
        return $from + NONE if $log && $value == 0;
        my $kept = $value < $least ? $least : $value > $most ? $most : $value;
        return $from + ($scale->($kept) - $scale->($least)) / ($scale->($most) - $scale->($least)) * ($to - $from);
    };
}

sub escaped ($text) { return $text =~ s/&/&amp;/gr =~ s/</&lt;/gr }

sub text ($x, $y, $text, $more = '') { return sprintf '<text x="%.0f" y="%.0f" %s>%s</text>', $x, $y, $more, escaped($text) }

sub line ($x1, $y1, $x2, $y2, $more) {
    return sprintf '<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" %s/>', $x1, $y1, $x2, $y2, $grey, $more;
}

sub grid ($x, $y, $of_x, $of_y) {
    my ($right, $floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    my @parts = line(LEFT, $floor, $right, $floor, '');
    for my $value (@{$of_y->{at}}) {
        push @parts, line(LEFT, $y->($value), $right, $y->($value), 'opacity=".3"'),
            text(LEFT - 8, $y->($value) + 4, sprintf($of_y->{format} // '%g', $value), 'text-anchor="end"');
    }
    push @parts, text(LEFT - 8, $floor + NONE + 4, 'none', 'text-anchor="end"') if $of_y->{none};
    for my $value (@{$of_x->{at}}) {
        push @parts, line($x->($value), $floor, $x->($value), $floor + 5, ''),
            text($x->($value), $floor + NONE + 20, $value, 'text-anchor="middle"');
    }
    return @parts, text((LEFT + $right) / 2, HEIGHT - 12, $of_x->{title}, 'text-anchor="middle"'),
        sprintf '<text transform="translate(14 %.0f) rotate(-90)" text-anchor="middle">%s</text>', (TOP + $floor) / 2,
        escaped($of_y->{title});
}

sub curve ($x, $y, $line, $row) {
    my $colour = $colour{$line->{colour}};
    my $dash   = $line->{dash} ? qq{ stroke-dasharray="$line->{dash}"} : '';
    my ($path, $points, $bars) = ('', '', '');
    for (@{$line->{points}}) {
        my ($at, $value, $worst) = @$_;
        $path   .= sprintf '%s%.1f %.1f', $path ? 'L' : 'M', $x->($at), $y->($value);
        $points .= sprintf 'M%.1f %.1fh0', $x->($at), $y->($value);
        $bars   .= sprintf 'M%.1f %.1fV%.1f', $x->($at), $y->($value), $y->($worst) if defined $worst;
    }
    my $shown = TOP + 14 + 20 * $row;
    my $left  = WIDTH - RIGHT + 16;
    return (
        qq{<path d="$path" fill="none" stroke="$colour" stroke-width="2"$dash/>},
        qq{<path d="$points" fill="none" stroke="$colour" stroke-width="6" stroke-linecap="round"/>},
        $bars ? qq{<path d="$bars" fill="none" stroke="$colour" stroke-width="1"/>} : (),
        sprintf('<path d="M%d %dh22" stroke="%s" stroke-width="2"%s/>', $left, $shown - 4, $colour, $dash),
        text($left + 28, $shown, $line->{name}, qq{style="fill:$colour"}),
    );
}

1;

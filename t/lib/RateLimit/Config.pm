package RateLimit::Config;

# Tests of what nginx -t says of a configuration's http level, one directive a line: "a; b { c; }" is written so.
#
#   accepts($text, $name);                   # returns the warnings
#   accepts_quietly($text, $name);           # accepted, without a warning
#   refuses($text, $at, qr/.../, $name);     # one [emerg] that matches and names the file and the line with $at
#   warns($text, $at, qr/.../, $name);       # accepted, with one such [warn]
#   notices($text, $at, qr/.../, $name);     # accepted, with no [warn], and one such [notice] that names a line

use v5.36;

use Exporter 'import';
use Test::More ();
use RateLimit::Folder;
use RateLimit::Nginx;

our @EXPORT = qw(accepts accepts_quietly refuses warns notices);

# The messages as the error log has them; nginx -t writes them to stderr too.
sub test_lines ($text) {
    my ($code, $output) = RateLimit::Nginx->test_config($text =~ s/([;{])[ \n]+/$1\n/gr);
    my @lines = map { s/\] \d+#\d+: /: /r } $output =~ /\[((?:emerg|warn|notice)\] \d+#\d+: .*)/g;
    return $code, $output, grep { !/^notice/ || named_line($_) ne '' } @lines;    # nginx has notices of its own
}

# The line that a message names first.
sub named_line ($message) {
    my ($file, $number) = $message =~ m{ in (/\S*?nginx\.conf):(\d+)} or return '';
    return (split /\n/, read_text($file))[$number - 1] // '';
}

sub says ($level, $at, $pattern, @lines) {
    my @messages = grep { /^$level: / } @lines;
    return @messages == 1 && $messages[0] =~ $pattern && index(named_line($messages[0]), $at) >= 0;
}

# Tests what is right of nginx's exit code and its messages; returns these.
sub judge ($text, $name, $right) {
    local $Test::Builder::Level = $Test::Builder::Level + 2;
    my ($code, $output, @lines) = test_lines($text);
    Test::More::ok($right->($code, @lines), $name) or Test::More::diag("$text\n$output");
    return @lines;
}

sub warned (@lines) { return grep { /^warn/ } @lines }

sub accepts ($text, $name = $text) { return warned(judge($text, "accepted: $name", sub ($code, @lines) { $code == 0 })) }

sub accepts_quietly ($text, $name = $text) {
    judge($text, "accepted without a warning: $name", sub ($code, @lines) { $code == 0 && !warned(@lines) });
    return;
}

sub refuses ($text, $at, $pattern, $name = $text) {
    judge($text, "refused: $name", sub ($code, @lines) { $code == 1 && says('emerg', $at, $pattern, @lines) });
    return;
}

sub warns ($text, $at, $pattern, $name = $text) {
    judge($text, "warned about: $name", sub ($code, @lines) { $code == 0 && says('warn', $at, $pattern, @lines) });
    return;
}

sub notices ($text, $at, $pattern, $name = $text) {
    judge($text, "noted: $name",
        sub ($code, @lines) { $code == 0 && !warned(@lines) && says('notice', $at, $pattern, @lines) });
    return;
}

1;

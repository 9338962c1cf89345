# Variables by a limit's name: what is refused and warned about. A map may define such a variable itself.

use RateLimit::Test;

my $key = 'rate_limit_key $arg_k;';
sub lines (@names) { return join ' ', map { "rate_limit 1r/s name=$_;" } @names }
sub at ($text) { return "$key server { listen unix:%%DIR%%/socket; location / { $text } }" }

for (['a-b', 'a_b'], ['Core', 'core'], ['a.b', 'a-b']) {
    my ($one, $other) = @$_;
    (my $variable = lc "rate_limit_used_$one") =~ tr/.-/__/;
    refuses(at(lines($one, $other) . " add_header X \$$variable;"), "name=$one",
        qr/the variable "\$$variable" is of the limit "\Q$one\E" in \S+:\d+ and of "\Q$other\E" in \S+:\d+, as case, .* make no difference there: give one of them another "name="/);
    accepts_quietly(at(lines($one, $other)), "$one and $other, and no such variable");
}
accepts_quietly(at(lines('x', 'after_x') . ' add_header X $rate_limit_reset_after_x;'), 'the longest attribute counts');
warns(at(lines('core') . ' add_header X $rate_limit_used_cor;'), '', qr/the variable "\$rate_limit_used_cor" is always empty: no limit has that name/);
accepts_quietly("$key map \$arg_a \$rate_limit_used_none { default a; } server { listen unix:%%DIR%%/socket; add_header X \$rate_limit_used_none; }", 'a variable that a map defines');

done;

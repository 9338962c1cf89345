# A word that may begin the next directive is refused with a question: is a ";" missing before it?

use RateLimit::Test;

my $question = qr/; is a ";" missing before it\? in/;
my @next     = ('return 200', 'rate_limit_key $arg_k', 'internal', 'proxy_set_header X a=b');
my %wrong    = (
    'rate_limit 5r/s key=$arg_k'        => qr/invalid parameter "%s" in "rate_limit": write NAME=VALUE/,
    'rate_limit $arg_r'                 => qr/invalid parameter "%s" in "rate_limit": write NAME=VALUE/,
    'rate_limit off'                    => qr/"rate_limit off" takes no parameters: remove "%s"/,
    'rate_limit_exempt_status 304'      => qr/invalid exempt status "%s" in "rate_limit_exempt_status": .* or "off"/,
    'rate_limit_headers github'         => qr/invalid value "%s" in "rate_limit_headers": .* or "off" alone/,
    'rate_limit_headers github ietf'    => qr/invalid value "%s" in "rate_limit_headers": .* or "off" alone/,
    'rate_limit_bypass $arg_b'          => qr/the constant "%s" stands beside other values in "rate_limit_bypass": .* alone/,
);
for my $text (sort keys %wrong) {
    for my $next (@next) {
        my ($word) = split / /, $next;
        my $pattern = $wrong{$text} =~ s/%s/$word/r;
        refuses("$text\n$next;", $next, qr/$pattern$question/, "$text, $next");
    }
}

my $shard = 'shard a primary=127.0.0.1:1';
refuses("rate_limit_redis main { $shard\nprefix x; }", 'prefix x', qr/unknown or repeated parameter "prefix" of shard "a": .*$question/,
    'shard, prefix');
refuses("rate_limit_redis main { prefix x\n$shard; }", $shard, qr/"prefix" in "rate_limit_redis" takes one value: "prefix VALUE;"$question/,
    'prefix, shard');

# The error does not ask for a semicolon where only a value is wrong.
for my $text ('rate_limit off=1', 'rate_limit 5r/s Key=$arg_k', 'rate_limit 5r/s 200', 'rate_limit_headers on', 'rate_limit_exempt_status x',
    'rate_limit_exempt_status 304 9xx', 'rate_limit_bypass on') {
    refuses("$text;", $text, qr/^(?!.*missing)/);
}

done;

# rate_limit_request_field: what it takes, what it refuses and with which remedy, and what is warned about.

use RateLimit::Test;

my $line  = 'rate_limit_request_field $model model';
my $limit = 'rate_limit_key $model; rate_limit 1r/s;';
my sub server ($text) { return "server { listen unix:%%DIR%%/socket; location / {\n$text\n} }" }

accepts_quietly("$line; $limit " . server(''), 'a field and a limit');
accepts_quietly(server("$line a.b *.0 default=other;\nrate_limit_request_field \$other x default=a.b=c;\n$limit"), 'several fields, paths and defaults');
accepts_quietly(server("$line;\nrate_limit_response_field \$tokens x;\nrate_limit_key \$model; rate_limit 1r/s cost=\$tokens;"), 'beside a field of responses');

refuses("rate_limit_request_field \$host a;", 'rate_limit_request_field $host a',
    qr/"\$host" in "rate_limit_request_field" is a variable that nginx or another directive sets: give the field a name of its own/);
refuses("rate_limit_response_field \$model a;\n$line;", $line, qr/"\$model" in "rate_limit_request_field" is a variable that nginx or another directive sets/,
    'a variable of responses');
refuses("$line;\n$line;", $line, qr/"rate_limit_request_field \$model" is duplicate: write all its paths in one line/, 'twice');
refuses("$line a..b;", "$line a..b", qr/invalid path "a..b" in "rate_limit_request_field": one of its names is empty/);
refuses("$line default=a default=b;", "$line default=a default=b", qr/duplicate parameter "default=b" in "rate_limit_request_field": keep one/);
refuses('rate_limit_request_field $model default=a;', 'rate_limit_request_field $model default=a',
    qr/"rate_limit_request_field" has no path before "default=a": write where the value is, such as model/);
for my $text ('', '$arg_m') {
    refuses("$line default=$text;", "$line default=$text", qr/invalid "default=\Q$text\E" in "rate_limit_request_field": it is a text without variables, and not empty/);
}
warns("\n$line;\n" . server(''), $line,
    qr/no limit is in effect where "rate_limit_request_field \$model" is in \S+: no request is read for it, and it is always its default, or "unknown"/);

# A field that lines of an inner block replace.
my %lost = (
    key => 'rate_limit 1r/s key=x$model name=b', rate => 'rate_limit $model key=$arg_k name=b', burst => 'rate_limit 1r/s key=$arg_k burst=$model name=b',
    store => 'rate_limit 1r/s key=$arg_k store=$model name=b', cost => 'rate_limit 1r/s key=$arg_k cost=$model name=b',
    reserve => 'rate_limit 1r/s key=$arg_k mode=charge_refund cost=1 reserve=$model name=b');
for my $noun (sort keys %lost) {
    warns("$line;\n$limit\n" . server("} location /b { rate_limit_request_field \$other x; rate_limit_key \$other;\n$lost{$noun};"), $lost{$noun},
        qr/the $noun of "rate_limit" in \S+ names "\$model", which no "rate_limit_request_field" in effect there sets: it is "unknown"; lines of a block replace/, "in its $noun");
}
accepts_quietly("$line;\n$limit\n" . server("rate_limit_request_field \$other x; rate_limit_key \$other; } location /b { rate_limit_report; rate_limit 1r/s key=\$model name=a;"), 'a report reads no request');

done;

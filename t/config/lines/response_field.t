# rate_limit_response_field: what it takes, what it refuses and with which remedy, and what is warned about.

use RateLimit::Test;

my $line  = 'rate_limit_response_field $tokens usage.total';
my $limit = 'rate_limit_key $arg_k; rate_limit 1r/s cost=$tokens;';
my sub server ($text) { return "server { listen unix:%%DIR%%/socket; location / {\n$text\n} }" }

accepts_quietly("$line; $limit " . server(''), 'a field that a cost names');
accepts_quietly(server("rate_limit_response_field \$tokens a.0.*.b c d;\nrate_limit_response_field \$other x;\n$limit"), 'several fields with several paths');
accepts_quietly("$line; $limit " . server("rate_limit_response_field \$tokens x;"), 'the variable of another block again');
accepts_quietly("map \$tokens \$more { default 1; } $line; rate_limit_key \$arg_k; rate_limit 1r/s cost=\${tokens}; " . server(''), 'a map of it');
accepts_quietly(server("rate_limit_key \$arg_k; rate_limit 1r/s cost=\$tokens;\n$line;"), 'in any order');

my $taken = qr/"\$\w+" in "rate_limit_response_field" is a variable that nginx or another directive sets: give the field a name of its own/;
refuses("rate_limit_response_field \$$_ a;", "rate_limit_response_field \$$_ a", $taken) for qw(host arg_tokens http_x upstream_http_x rate_limit_cost HOST);
refuses("map \$arg_a \$tokens { default 1; }\n$line;",     $line, $taken, 'a map before it');
refuses("geo \$tokens { default 1; }\n$line;",             $line, $taken, 'a geo before it');
refuses(server("set \$tokens 1;\n$line;"),                 $line, $taken, 'a set before it');
refuses("$line;\nmap \$arg_a \$tokens {\n default 1; }",   'map', qr/the duplicate "tokens" variable/, 'a map behind it');
refuses(server("$line;\nset \$tokens 1;"),                 'set', qr/the duplicate "tokens" variable/, 'a set behind it');

refuses("$line;\nrate_limit_response_field \$tokens x;", 'rate_limit_response_field $tokens x',
    qr/"rate_limit_response_field \$tokens" is duplicate: write all its paths in one line, the first of which counts before the others/);
for my $word ('tokens', '$', '$a-b', '${tokens}') {
    refuses("rate_limit_response_field $word a;", 'rate_limit_response_field',
        qr/invalid variable "\Q$word\E" in "rate_limit_response_field": it is the name of the variable to set, such as \$tokens/);
}
my %wrong = (
    'a..b'                    => qr/one of its names is empty: write names joined by single dots, such as usage.total_tokens/,
    '.a'                      => qr/one of its names is empty/,
    '$.usage'                 => qr/it begins at the root of the document by itself: leave "\$\." away/,
    'x' x 65                  => qr/a name has 64 bytes at most: write "\*" for one that is longer/,
    join('.', ('a') x 17)     => qr/it has 16 names at most/,
);
refuses("rate_limit_response_field \$x ok $_;", "rate_limit_response_field \$x ok $_", qr/invalid path "\Q$_\E" in "rate_limit_response_field": $wrong{$_}/) for sort keys %wrong;
refuses('rate_limit_response_field $x a default=1;', 'rate_limit_response_field $x a default=1',
    qr/"rate_limit_response_field" does not take "default=1": a variable of a response is empty until its field has been read/);
refuses('rate_limit_response_field $x ' . join(' ', map { "a$_" } 1 .. 65) . ';', 'rate_limit_response_field',
    qr/more than 64 paths in the "rate_limit_response_field" lines of one block: name only what is used/);
refuses('rate_limit_response_field $x;', 'rate_limit_response_field $x', qr/invalid number of arguments/);

my $unread = qr/no cost in effect names "\$tokens" of "rate_limit_response_field" in \S+: no response is read for it; write it into "cost=" itself, for what a "map" is made of is not seen/;
warns("\n$line;\n", $line, $unread, 'no limit');
warns("map \$tokens \$weight { default 1; }\n$line;\nrate_limit_key \$arg_k; rate_limit 1r/s cost=\$weight;" . server(''), $line, $unread, 'behind a map');
warns("$line;\n$limit\n" . server("} location /b { rate_limit_key \$arg_k;\nrate_limit_response_field \$other x;\nrate_limit 1r/s name=b cost=\$tokens;\nrate_limit 1r/s name=c cost=\$other;"),
    'rate_limit 1r/s name=b cost=$tokens',
    qr/the cost of "rate_limit" in \S+ names "\$tokens", which no "rate_limit_response_field" in effect there sets: it is empty; lines of a block replace those of the blocks around it/,
    'lost by lines of an inner block');
warns("$line;\nrate_limit_key \$tokens; rate_limit 1r/s cost=\$tokens;" . server(''), 'rate_limit_key $tokens', qr/uses "\$tokens", which is not known yet when limits are checked/, 'a key');

done;

# The values that rate_limit_report takes, where it may stand, and what cannot stand beside it.

use RateLimit::Test;

my sub location ($text) { return "server { rate_limit_key \$arg_k; location = /r { $text } }" }
my $report = 'rate_limit_report;';

refuses(location('rate_limit_report on;'), 'rate_limit_report on', qr/invalid number of arguments in "rate_limit_report" directive/);
refuses(location("$report $report"), 'rate_limit_report', qr/"rate_limit_report" directive is duplicate, keep only one of them/);
my $both = qr/"rate_limit_console" and "rate_limit_report" stand in one location: give each its own/;
refuses(location("$report rate_limit_console view;"), 'rate_limit_console', $both);
refuses(location("rate_limit_console view; $report") =~ s/= //r, 'rate_limit_report',  $both);
refuses("server { $report }", 'rate_limit_report', qr/"rate_limit_report" directive is not allowed here/);
refuses(location("if (\$arg_x) { $report }"), 'rate_limit_report', qr/"rate_limit_report" directive is not allowed here/);

my $name = qr/"rate_limit" in \S+:\d+ has the same name "x" as the one in \S+:\d+, and "rate_limit_report" shows one limit of a name: give one/;
refuses(location("$report rate_limit 1r/s name=x; rate_limit 9r/m name=x;"), 'rate_limit 9r/m', $name);
refuses('server { rate_limit_key $arg_k; rate_limit 1r/s name=x; rate_limit 9r/m name=x; location = /r { rate_limit_report; } }',
    'rate_limit 9r/m', $name, 'also of lines of the server');
refuses(location("$report rate_limit 1r/s store=none;"), 'rate_limit 1r/s', qr/unknown store "none"/);
refuses("server { rate_limit_key \$arg_k; location / { rate_limit 1r/s; } location = /r { $report rate_limit 1r/s mode=lease; } }",
    'mode=lease', qr/has another mode than the one in/);

accepts_quietly(location($_), $_) for "$report", "$report rate_limit 1r/s; rate_limit 9r/m name=x;", "$report rate_limit off;",
    "$report rate_limit 1r/s key=\$remote_user;";
accepts_quietly('server { rate_limit_key $arg_k; rate_limit 1r/s; location ~ ^/r { rate_limit_report; } location @r { rate_limit_report; } }');

done;

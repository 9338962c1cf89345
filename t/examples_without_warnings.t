# What the documents show loads without a warning or a notice: conf-examples, and the examples of README.md.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use RateLimit::Test;
use RateLimit::Example;

sub told ($http) {
    $http =~ s/listen\s+80;/listen unix:%%DIR%%\/socket;/g;
    my ($code, $output) = RateLimit::Nginx->test_config($http);
    return "$code " . join '', grep { /\[\w+\]/ } split /^/, $output;
}

my $listen = 'server { listen unix:%%DIR%%/other;';
for my $path (glob "$FindBin::Bin/../conf-examples/*.conf") {
    is told(read_text($path)), '0 ', $path =~ s/.*\///r;
}
my $readme = project_file('README.md');
my ($full) = $readme =~ /<!-- full example -->\n```nginx\n.*?^http \{\n(.*?)^\}\n```/ms;
is told($full), '0 ', 'the full example of README.md';
my ($local) = $readme =~ /On one machine no Redis is needed.*?```nginx\n(.*?)```/s;
is told("$listen $local }"), '0 ', 'that of one machine';
my ($geo, $bypass) = $readme =~ /```nginx\n(geo \$office \{.*?\n\}\n)\.\.\.\n(.*?)```/s;
is told("$geo $listen $bypass $local }"), '0 ', 'that of rate_limit_bypass';

done;

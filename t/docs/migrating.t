# docs/migrating.md: nginx takes each of its configurations without a warning, and what it says of limit_req is so: a burst gets the same statuses.

use RateLimit::Test;
use Time::HiRes qw(sleep);

my $document = project_file('docs/migrating.md');

# Returns what nginx -t says of an http level. If limits stand in no server, a server is added that inherits them.
sub told ($http) {
    $http .= "server { listen 80; }\n" if $http !~ /^server /m;
    $http =~ s/listen\s+80\b/listen unix:%%DIR%%\/socket/g;
    my ($code, $output) = RateLimit::Nginx->test_config($http);
    return "$code " . join '', grep { /\[(?:emerg|alert|crit|error|warn)\]/ } split /^/, $output;
}

my @marks = $document =~ /^(?:<!-- ((?:theirs|ours): [\w-]+) -->)?\n```nginx\n/mg;
is_deeply [grep { !defined } @marks], [], 'each nginx configuration has a mark';
is told(code($document, $_)), '0 ', "nginx takes $_" for @marks;
my %ours = map { /^ours: (.*)/ ? ($1 => 1) : () } @marks;
is_deeply [sort $document =~ /^<!-- theirs: ([\w-]+) -->$/mg], [sort keys %ours], 'and each of theirs has one of ours';

# The rate is 2 a second here, so that a slow machine sends a whole burst before there is room for one more.
my $app = RateLimit::Backend->start;
my sub limiter ($whose) {
    my $text = code($document, "$whose: limit_req");
    $text =~ s{\b10r/s}{2r/s}g or fail('10r/s');
    return start_text($text, app => $app);
}
my %limiter = map { $_ => limiter($_) } qw(theirs ours);

# The statuses of nine requests, all at once or one after another.
my sub nine ($whose, $connections, $uri, @headers) {
    return join ' ', sort map { $_->status } $limiter{$whose}->parallel(connections => $connections, keepalive => 0, requests => [([$uri, @headers]) x 9]);
}
my %headers = ('/search' => [], '/api' => ['X-Api-Key' => 'k'], '/queue' => ['X-Token' => 'k']);
for my $uri (sort keys %headers) {
    my %statuses = map { $_ => nine($_, 9, $uri, @{$headers{$uri}}) } sort keys %limiter;
    is $statuses{theirs}, join(' ', (200) x 6, (503) x 3), "$uri: of nine at once limit_req lets six pass";
    is $statuses{ours}, $statuses{theirs}, '... and so does the configuration in its place';
}
sleep 3;    # both are full again
for my $whose (sort keys %limiter) {
    is nine($whose, 1, '/search/304'), join(' ', (304) x 6, (503) x 3), "$whose: a response 304 is charged";
    is nine($whose, 9, '/api'), join(' ', (200) x 9), "$whose: without a key nothing is limited";
}

done;

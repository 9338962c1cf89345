# The metrics are in Prometheus's text format, whatever the client would accept: promtool has nothing to say of them, with windows, buckets and
# running requests, and the Python client reads them whole. Every metric of the table in docs/reference.md is there from the first scrape, with the
# labels of the table, no other, and no series twice.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = RateLimit::Nginx->start(
    workers => 2, up => $app,
    http    => $shards->block('main'),
    server  => 'rate_limit_key $arg_k; rate_limit_store main;
        location /limits/ { rate_limit_console view; }
        location / { rate_limit 10r/h name=a.1; rate_limit 5r/h store=local name=b; }
        location /app/ { rate_limit 10r/s burst=20 store=local name=smooth; rate_limit 100r/s burst=2000 mode=lease name=leased;
            rate_limit_concurrency 5; rate_limit_concurrency 3 store=local name=here; proxy_pass http://%%UP%%; }',
);
my ($section) = project_file('docs/reference.md') =~ /^## Metrics\n(.*?)(?=^## |\z)/ms;
my %table = map { /^\| `(\w+)`(?:, `\w+`)* \| (\w+) \| ([^|]*)\|/ ? ("nginx_rate_limit_$1" => {type => "$2", labels => join ',', sort($3 =~ /`(\w+)`/g)}) : () } split /\n/, $section;

# Returns what a command prints about the text, on both of its outputs.
my sub said_of ($text, $command) {
    write_text(test_folder() . '/metrics', $text);
    return qx($command < ${\test_folder()}/metrics 2>&1);
}

my sub check ($what) {
    my $response = $nginx->get('/limits/metrics', Accept => 'application/openmetrics-text');
    is $response->header('Content-Type'), 'text/plain; version=0.0.4; charset=utf-8', "$what: the content type";
    my (%type, %help, %series);
    for (split /\n/, $response->body) {
        if    (/^# TYPE (\S+) (\S+)$/) { $type{$1} .= $2 }
        elsif (/^# HELP (\S+) \S/)     { $help{$1}++ }
        elsif (/^(\w+)(?:\{(.*)\})? \S+$/) { $series{"$1\{" . ($2 // '') . '}'}++ }
        else                           { fail "a line that is none: $_" }
    }
    is_deeply \%type, {map { $_ => $table{$_}{type} } keys %table}, '... each metric of the table with its type, and no other';
    is_deeply [sort keys %help], [sort keys %type], '... and a text';
    is_deeply [grep { $series{$_} > 1 } keys %series], [], '... no series twice';
    my %wrong;
    for my $series (keys %series) {
        my ($name, $labels) = $series =~ /^(\w+)\{(.*)\}$/;
        my $base = $type{$name} ? $name : $name =~ s/_(?:bucket|sum|count)$//r;
        my $got  = join ',', sort grep { $_ ne 'le' } $labels =~ /(\w+)="(?:[^"\\]|\\.)*"/g;
        $wrong{$series} = $got if $got ne $table{$base}{labels};
    }
    is_deeply \%wrong, {}, '... with the labels of the table';
    return $response->body;
}
check('the first scrape');
$nginx->get("/?k=$_") for 1 .. 20;
my @open = map { $nginx->reach($app, "/app/slow?k=$_") } 1 .. 3;
wait_until { $nginx->get('/limits/metrics')->body =~ /^nginx_rate_limit_concurrency_slots\{limit="concurrency",store="main"\} 3$/m }
    what => 'the slots to be counted';
my $body = check('with buckets, and requests that run');
my %value = map { /^nginx_rate_limit_(\S+) (\S+)$/ ? ($1 => $2) : () } split /\n/, $body;
is $value{$_->[0]}, $_->[1], "... $_->[0]" for (
    ['limit{limit="smooth",store="local",period="1"}', 10], ['limit{limit="leased",store="main",period="1"}', 100],
    ['concurrency_limit{limit="concurrency",store="main"}', 5], ['concurrency_running{limit="concurrency",store="main"}', 3],
    ['concurrency_limit{limit="here",store="local"}', 3], ['concurrency_running{limit="here",store="local"}', 3],
);
cmp_ok sum0(map { $value{$_} } grep { /^lease_tokens_total\{store="main",shard="\w+",event="fetched"\}$/ } keys %value), '>=', 3, '... tokens of buckets';

SKIP: {
    skip 'no promtool: make deps GROUPS=prometheus', 1 if system('command -v promtool > /dev/null 2>&1');
    is said_of($body, 'promtool check metrics'), '', 'promtool has nothing to say';
}
SKIP: {
    skip 'no prometheus_client for Python: make deps GROUPS=prometheus', 1 if system(q(/usr/bin/python3 -c 'import prometheus_client' 2> /dev/null));
    write_text(test_folder() . '/read.py', <<'PYTHON');
import sys
from prometheus_client.parser import text_string_to_metric_families
print(sum(len(family.samples) for family in text_string_to_metric_families(sys.stdin.read())))
PYTHON
    my $read = said_of($body, "/usr/bin/python3 ${\test_folder()}/read.py");
    is $read, scalar(grep { !/^#/ } split /\n/, $body) . "\n", 'the Python client reads each sample';
}
$app->release('gate');
is $_->response->status, 200 for @open;

done;

# docs/operations.md, "Sizing": a zone has room for as many windows, and for as many that wait, as the table says, to two in a hundred.

use RateLimit::Test;
use JSON::PP;

my ($sizing) = project_file('docs/operations.md') =~ /^## Sizing\n(.*?)^## /ms;
my @rows = map { tr/,//dr } $sizing =~ /^(\| `\d+[mg]`.*)$/mg;
is scalar @rows, 5, 'the table has sizes';
for my $row (@rows) {
    my ($size, %says);
    ($size, @says{qw(windows waiting)}) = $row =~ /^\| `(\w+)`[^|]*\| (\d+) \| (\d+) \|$/ or fail("a row: $row");
    my $nginx = RateLimit::Nginx->start(
        workers => 4, http => "rate_limit_zone $size; rate_limit_key all;",
        server  => 'location / { rate_limit 10r/s; } location /limits/ { rate_limit_console view; }',
    );
    my $zone = decode_json($nginx->get('/limits/json')->body)->{zone};
    cmp_ok abs($zone->{$_}{capacity} - $says{$_}), '<=', $says{$_} / 50, "$size: $_" for sort keys %says;
    $nginx->stop;
}

done;

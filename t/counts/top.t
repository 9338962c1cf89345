# The JSON page lists the keys that limits reject most often: the heaviest first, each exact but for `over`, by the id that $rate_limit_id has, of all
# workers, over reloads and killed workers. Dry runs count, and are told apart. However many other keys there are, the heavy ones are listed.

use RateLimit::Test;
use JSON::PP;

my sub server (@more) {
    return 'keepalive_requests 1000000; rate_limit_key $http_x_key; location /limits/ { rate_limit_console view; }
        location / { rate_limit 1r/d name=core; } location /zero { rate_limit 0r/s name=core; } location /minute { rate_limit 1r/365d name=core; }
        location /two { rate_limit 1r/d name=two; rate_limit 1r/d name=dry dry_run=on; }' . "@more";
}
my $removed = 'location /removed { rate_limit 1r/d name=removed; }';
my %conf    = (workers => 2, reuseport => 1, http => 'add_header X-Id $rate_limit_id always; add_header X-Worker $pid always;');
my $nginx   = RateLimit::Nginx->start(%conf, server => server($removed));
my sub top () { return decode_json($nginx->get('/limits/json')->body)->{top} }

# Returns what the console tells of the key with this id.
my sub of ($id) { return (grep { $_->{id} eq $id } @{top()->{keys}})[0] }
my sub ask ($uri, $key, $count) { return map { $nginx->get($uri, 'X-Key' => $key) } 1 .. $count }

my $start = time;
is_deeply [map { top()->{$_} } qw(total others keys)], [0, 0, []], 'nothing at first';
my @heavy = ask('/x', 'heavy', 60);
is workers_of(@heavy), 2, 'two workers';
my $id = $heavy[0]->header('X-Id');
my $light = (ask('/x', 'light', 5))[0]->header('X-Id');
my $top = top();
is $top->{total}, 63, 'how often was rejected';
is_deeply [map { $_->{id} } @{$top->{keys}}], [$id, $light], 'the heaviest first, with the id that $rate_limit_id has';
my $first = $top->{keys}[0];
cmp_ok $first->{last}, '>=', $start, 'when last';
cmp_ok $first->{last}, '<=', now, '... not in the future';
cmp_ok $top->{since}, '<=', $start + 1, 'since when';
delete $first->{last};
is_deeply $first, {limit => 'core', store => 'local', id => $id, key => undef, cut => JSON::PP::false, rejected => 59, over => 0, dry_run => 0}, 'a key';
ask($_, 'heavy', 3) for qw(/zero /minute);
is of($id)->{rejected}, 64, 'whatever the rate';

my $two = (ask('/two', 'heavy', 11))[0]->header('X-Id');
my %of = map { $_->{limit} => $_ } grep { $_->{limit} ne 'core' } @{top()->{keys}};
is $of{two}{id}, $two, 'another limit has another id';
is_deeply [@{$of{two}}{qw(rejected dry_run)}], [10, 0], 'each limit that rejects';
is_deeply [@{$of{dry}}{qw(rejected dry_run)}], [10, 10], 'in a dry run, too';
my $removed_id = (ask('/removed', 'heavy', 9))[0]->header('X-Id');
is of($removed_id)->{rejected}, 8, 'a limit';

my $total = top()->{total};
$nginx->parallel(connections => 20, requests => [map { ['/zero', 'X-Key' => "flood $_"] } 1 .. 2000]);
ask('/x', 'heavy', 40);
my $late = (ask('/zero', 'late', 300))[0]->header('X-Id');
$top = top();
is $top->{total}, $total + 2340, 'a flood of keys is counted';
for my $known ([$id, 104], [$late, 300]) {
    my ($entry) = grep { $_->{id} eq $known->[0] } @{$top->{keys}};
    cmp_ok $entry->{rejected}, '>=', $known->[1], 'a heavy key is listed, with no less than it was rejected';
    cmp_ok $entry->{rejected} - $entry->{over}, '<=', $known->[1], '... and no more but for `over`';
}
is_deeply [map { $_->{id} } @{$top->{keys}}[0, 1]], [$late, $id], 'the heaviest are the first';
cmp_ok $top->{others}, '>=', 2000 - 4 * 64, 'most is of other keys';
cmp_ok $top->{others}, '<=', $top->{total} - 404, '... and that of the heavy ones is not';
cmp_ok scalar(@{$top->{keys}}), '<=', 2 * 64, 'not all keys are listed';
my $read = $top;
top() for 1 .. 10;
is_deeply top(), $read, 'reading changes nothing';

$nginx->kill_worker for 1 .. 2;
is_deeply top(), $read, 'nor do killed workers';
ask('/zero', 'late', 10);
is of($late)->{rejected}, 10 + (grep { $_->{id} eq $late } @{$read->{keys}})[0]{rejected}, 'their successors go on';
$nginx->reload(%conf, server => server(), wait_old => 1);
ask('/zero', 'late', 10);
is of($late)->{rejected}, 20 + (grep { $_->{id} eq $late } @{$read->{keys}})[0]{rejected}, 'nor does a reload';
is of($removed_id), undef, 'a limit that is not configured is not listed';
is top()->{total}, $read->{total} + 20, '... but counted';
unlike $nginx->get('/limits/metrics')->body, qr/$late|$id|offend|top/, 'metrics have no keys';

done;

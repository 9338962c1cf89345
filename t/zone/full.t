# A zone of the least size, full of windows that are used up: none of them gives way, further clients find no room, and
# rate_limit_on_error decides about them, with a line a second in the log. Limits of a Redis store go on by Redis alone.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $nginx   = RateLimit::Nginx->start(
    clock     => 1,
    log_level => 'notice',
    http      => redis_block('main', $redis) . '
        rate_limit_zone 128k; rate_limit_key $http_x_key; rate_limit_log_level info; keepalive_requests 1000000;
        log_format all "$http_x_key $status $rate_limit_status";',
    server => 'access_log %%DIR%%/all all;
        location / { rate_limit 1r/h; }
        location /deny/ { alias %%DIR%%/html/; rate_limit 1r/h; rate_limit_on_error deny; }
        location /local/ { alias %%DIR%%/html/; rate_limit 1r/h; rate_limit_on_error local; }
        location /dry/ { alias %%DIR%%/html/; rate_limit 1r/h; rate_limit_on_error deny; rate_limit_dry_run on; }
        location /before/ { alias %%DIR%%/html/; rate_limit 9r/h name=before mode=charge_refund;
            rate_limit_on_error deny; }
        location /redis/ { alias %%DIR%%/html/; rate_limit 3r/h name=redis store=main; rate_limit_on_error deny; }',
);

sub flood ($uri, @keys) { return $nginx->parallel(connections => 20, requests => [map { [$uri, 'X-Key' => $_] } @keys]) }

# How requests ended so far, of one key or of all.
sub logged ($key = qr/\S+/) { return map { /^$key (\d+ \w+)$/ ? $1 : () } $nginx->lines('all') }

my @keys  = map { "k$_" } 1 .. 2500;
is_deeply statuses(flood('/x', @keys)), {200 => 2500}, 'every key passes: it has a window, or can have none';
my @again = flood('/x', @keys);
my @held  = map { $keys[$_] } grep { $again[$_]->status == 429 } 0 .. $#keys;
my @none  = map { $keys[$_] } grep { $again[$_]->status == 200 } 0 .. $#keys;
is @held + @none, 2500, 'then it is rejected, or again has none';
diag @held . ' windows';
cmp_ok scalar(@held), '>', 950, 'as many have one as fit';
cmp_ok scalar(@held), '<', 1500, 'and no more';
my $rejects_all = {429 => scalar @held};
is_deeply statuses(flood('/x', @held)), $rejects_all, 'none of them gives way';

my @errors = flood('/x', @none);
is_deeply statuses(@errors), {200 => scalar @none}, 'allow: others pass';
is_deeply [grep { defined $_->header('X-RateLimit-Limit') } @errors], [], 'without headers';
is_deeply [logged($none[0])], [('200 ERROR_ALLOWED') x 3], 'as errors';
is_deeply statuses(flood('/local/x', @none)), {200 => scalar @none}, 'local: they pass, too, for it has no room either';
is_deeply statuses(my @denied = flood('/deny/x', @none)), {503 => scalar @none}, 'deny: they do not';
is_deeply [grep { defined $_->header('X-RateLimit-Limit') } @denied], [], 'without headers';
is ((logged($none[0]))[-1], '503 ERROR_DENIED', 'as errors');
is_deeply statuses(flood('/dry/x', @none)), {200 => scalar @none}, 'but in a dry run';
my $before = statuses(flood('/before/x', map { "b$_" } 1 .. 300));
cmp_ok $before->{503} // 0, '>', 250, 'so it is where charges come before the request, though some find room';
is_deeply statuses(flood('/x', @held)), $rejects_all, 'still none gave way';

my $line = qr/:(\d+) could not be checked: no room in "rate_limit_zone": enlarge it(?: \((\d+) requests since the last)?/;
sub told () {
    my ($told, $log) = (0, $nginx->error_log);
    $told += $2 // 1 while $log =~ /$line/g;
    return $told;
}
my $errors = grep { /ERROR/ } logged();
wait_until { told() == $errors } what => "the log to tell of all $errors errors";
my %at;
my $log = $nginx->error_log;
$at{"$1 $2"}++ while $log =~ /^\S+ (\S+) .*$line/mg;
is_deeply [grep { $_ > 2 } values %at], [], 'a line a second of each limit';

my @redis = map { "r$_" } 1 .. 50;
for my $n (1 .. 3) {
    is_deeply statuses(flood('/redis/x', @redis)), {200 => 50}, "Redis: request $n of each key passes";
    wait_until { !grep { $_ != $n } $redis->used_of('redis/3600', @redis) } what => 'charges';
}
my @seen = flood('/redis/x', @redis);
is_deeply statuses(@seen), {429 => 50}, 'and no further one';
is_deeply [map { limits($_)->{used} } @seen], [(3) x 50], 'by what is stored';
is_deeply statuses(flood('/x', @held)), $rejects_all, 'no copy drove out a local window';

$nginx->travel('+3700');
wait_until { $nginx->get('/x', 'X-Key' => $held[0])->status == 200 } what => 'the next hour';
my @few = @none[0 .. 199];
is_deeply [map { statuses(flood('/deny/x', @few)) } 1, 2], [{200 => 200}, {429 => 200}], 'windows that ended give way';

done;

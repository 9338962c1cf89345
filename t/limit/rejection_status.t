# What rejections and denials are answered with: rate_limit_status and rate_limit_error_status, any code from 400 to 599, or the status= of a limit, which goes
# before. Of several limits that reject, the first counts; a limit in dry run, or one that is not the first, has no say. What an error denies is not charged.

use RateLimit::Test;

# Each case has the lines of a location, and the status that a request there is answered with.
my @codes = (400, 401, 403, 418, 429, 503, 599);
my $gone  = 'store=gone; rate_limit_on_error deny;';
my @cases = (
    ['rate_limit 0r/h;',                                                                        429],
    (map { ["rate_limit 0r/h; rate_limit_status $_;", $_] } @codes),
    ["rate_limit 9r/h $gone rate_limit_error_status 503;",                                      503],
    (map { ["rate_limit 9r/h $gone rate_limit_error_status $_;", $_] } @codes),
    ["rate_limit 9r/h $gone rate_limit 9r/h name=other;",                                       507],
    ['rate_limit 0r/h status=503;',                                                             503],
    ['rate_limit 0r/h status=400; rate_limit_status 403;',                                      400],
    ['rate_limit 0r/h status=599;',                                                             599],
    ['rate_limit 0r/h status=401; satisfy any; allow all;',                                     401],
    ['rate_limit 0r/h name=a status=503; rate_limit 0r/h name=b status=418;',                   503],
    ['rate_limit 0r/h name=a; rate_limit 0r/h name=b status=418;',                              429],
    ['rate_limit 0r/h name=a; rate_limit 0r/h name=b status=418; rate_limit_status 420;',       420],
    ['rate_limit 9r/h name=a status=503; rate_limit 0r/h name=b status=418;',                   418],
    ['rate_limit 9r/h name=a status=503; rate_limit 0r/h name=b;',                              429],
    ['rate_limit 0r/h name=a status=503 dry_run=on; rate_limit 0r/h name=b status=418;',        418],
    ['rate_limit 0r/h name=a status=503 dry_run=on; rate_limit 0r/h name=b;',                   429],
    ['rate_limit 0r/h name=a status=503 dry_run=on;',                                           200],
    ['rate_limit 0r/h name=a status=503 key=$arg_none; rate_limit 0r/h name=b status=418;',     418],
    ['rate_limit 0r/h name=a status=503 phase=precontent; rate_limit 0r/h name=b status=418;',  418],
    ['rate_limit 9r/h name=a status=503; rate_limit 0r/h name=b status=418 phase=precontent;',  418],
    ["rate_limit 9r/h name=a status=503 $gone",                                                 507],
    ["rate_limit 9r/h name=a status=418 $gone rate_limit 0r/h name=b status=420;",              420],
);
my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http => redis_block('main', $redis) . 'rate_limit_redis gone { shard a primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_key $server_port; rate_limit_store main; server { listen 127.0.0.1:%%PORT_2%%; rate_limit 9r/h ' . $gone . ' location / { } }',
    server => join "\n", 'rate_limit_error_status 507; rate_limit 0r/h status=409; location /inherited/ { alias %%DIR%%/html/; rate_limit_status 403; }
        location /closed { rate_limit 0r/h; rate_limit_status 444; }',
        map { "location /$_/ { alias %%DIR%%/html/; $cases[$_][0] }" } 0 .. $#cases,
);
for my $i (0 .. $#cases) {
    my ($text, $status) = @{$cases[$i]};
    my $denied   = $text =~ /gone/ && $status != 420;
    my $response = $nginx->get("/$i/x");
    shows $response, $status, {retry_after => $status == 200 ? undef : $denied ? 1 : 3600}, "$text, and Retry-After";
    is_deeply limits($response), {retry_after => 1}, '... alone where it is denied, beside a window that is known, too' if $denied;
}
is $nginx->get('/inherited/x')->status, 409, 'an inherited line brings its status';
my $unsaid = RateLimit::HTTP->new(port => $nginx->port(2));
is $unsaid->get('/x')->status, 503, 'what is denied is answered with 503 where nothing is said';
my $closed = $nginx->begin('/closed');
ok $closed->at_end && $closed->{buffer} eq '', '444 closes the connection';
for my $code (399, 600) {
    refuses("$_ $code;", $_, qr/400 to 599/, "$_ $code") for 'rate_limit_status', 'rate_limit_error_status';
}
$nginx->stop;
is_deeply [$redis->keys], [], 'what is denied or rejected is not charged';

done;

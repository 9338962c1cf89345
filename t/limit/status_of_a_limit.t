# status= of a limit: what its rejections are answered with, before rate_limit_status. Of several that reject, the first
# counts; a limit in dry run, or one that is not the first, has no say.

use RateLimit::Test;

# Each case has the lines of a location, and the status that a rejection there is answered with.
my @cases = (
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
    ['rate_limit 9r/h name=a status=503 store=gone; rate_limit_on_error deny;',                 507],
    ['rate_limit 9r/h name=a status=418 store=gone; rate_limit_on_error deny; rate_limit 0r/h name=b status=420;', 420],
);
my $nginx = RateLimit::Nginx->start(
    http => 'rate_limit_redis gone { shard a primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_key $server_port; rate_limit_error_status 507;',
    server => join "\n", 'rate_limit 0r/h status=409; location /inherited/ { alias %%DIR%%/html/; rate_limit_status 403; }',
        map { "location /$_/ { alias %%DIR%%/html/; $cases[$_][0] }" } 0 .. $#cases,
);
for my $i (0 .. $#cases) {
    my ($text, $status) = @{$cases[$i]};
    my $after = $status == 200 ? undef : $status == 507 ? 1 : 3600;
    shows $nginx->get("/$i/x"), $status, {retry_after => $after}, "$text, and Retry-After";
}
is $nginx->get('/inherited/x')->status, 409, 'an inherited line brings its status';

done;

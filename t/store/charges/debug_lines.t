# The upkeep's lines are debug lines of nginx's core: who asks for those of http alone does not get them.

use RateLimit::Test;

my ($replica, $redis) = map { RateLimit::Redis->start } 1, 2;
my %nginx = map {
    $_ => RateLimit::Nginx->start(
        log_level => $_,
        http => redis_block('main', [$redis, $replica]),
        server => 'rate_limit_key $arg_k; rate_limit_store main; location / { rate_limit 99r/h mode=lease; }',
    )
} 'debug_core', 'debug_http';
plan skip_all => 'nginx was built without --with-debug' if $nginx{debug_core}->error_log !~ /\[debug\]/;

is $nginx{$_}->get("/x?k=$_")->status, 200, "$_: a request" for sort keys %nginx;
my $rounds = sub ($level) { return $nginx{$level}->count_log(qr/rate limit: looked at/) };
wait_until { $rounds->('debug_core') > 2 } what => 'rounds of the upkeep';
like $nginx{debug_http}->error_log, qr/\[debug\].*http/, 'lines of http are there';
is $rounds->('debug_http'), 0, 'and none of the upkeep';

done;

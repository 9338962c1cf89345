# window=clock: Reset is the end of the UTC period, and the next period starts anew. window=first: a period
# from the first charged request; a window that has ended is not asked about again.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->start(
    clock  => 1,
    http   => redis_block('main', $redis) . 'rate_limit_store main; rate_limit_key all;',
    server => 'location / { rate_limit 2r/h name=clock window=clock; }
        location /day/ { alias %%DIR%%/html/; rate_limit 2r/d name=day window=clock; }
        location /first/ { alias %%DIR%%/html/; rate_limit 2r/h name=first window=first; }
        location /default/ { alias %%DIR%%/html/; rate_limit 2r/h; }',
);

my $hour   = 3600 * ceil(time / 3600);
my $minute = $hour + 1800;
$nginx->travel('+' . ($minute - time));
wait_until { limits($nginx->get('/default/x'))->{reset} > $minute + 3500 } what => 'the time';
my $end   = $hour + 3600;
my @first = map { $nginx->get($_) } ('/x') x 3;
is_deeply [map { $_->status } @first], [200, 200, 429], 'two an hour';
is_deeply [map { limits($_)->{reset} } @first], [($end) x 3], 'until the hour ends';
cmp_ok abs(limits($first[2])->{retry_after} - ($end - $first[2]->date)), '<=', 1, 'Retry-After is what is left of it';
is limits($nginx->get('/day/x'))->{reset} % 86_400, 0, 'a day ends at midnight UTC';
my @other = map { $nginx->get('/first/x') } 1 .. 3;
is_deeply [map { $_->status } @other], [200, 200, 429], 'two in a period';
cmp_ok abs(limits($other[0])->{reset} - ($other[0]->date + 3600)), '<=', 1, 'which starts with the first';
is limits($other[2])->{reset}, limits($other[0])->{reset}, 'and stays';
is $redis->stored('all', 'clock/3600c')->{reset}, "${end}000", 'as stored';

$nginx->travel('+' . ($end + 60 - time));
wait_until { $nginx->get('/x')->status == 200 } what => 'the next hour';
is limits($nginx->get('/x'))->{reset}, $end + 3600, 'the next hour has its own window';
is $nginx->get('/x')->status, 429, 'and the same limit';
is $nginx->get('/first/x')->status, 429, 'the other period goes on';

$nginx->travel('+' . ($minute + 3660 - time));
my $opened = wait_until { my $r = $nginx->get('/first/x'); $r->status == 200 && $r } what => 'the next period';
my $next = limits($nginx->get('/first/x'));
is $next->{used}, 2, 'counts anew';
cmp_ok abs($next->{reset} - ($opened->date + 3600)), '<=', 1, 'from its first request';
$nginx->stop;
is_deeply [sort $redis->keys],
    ['rl:clock/3600c:all', 'rl:day/86400c:all', 'rl:default/3600:all', 'rl:first/3600:all'], 'keys say which';

done;

# An error page that is sent as `=200` and found not modified is 304 to the client: free, as its headers
# say.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start;
my $nginx  = RateLimit::Nginx->with_limit('9r/h', redis_block('main', $redis), more => 'error_page 404 =200 /x;');

is limits($nginx->get('/none', 'X-Key' => 'a'))->{used}, 1, 'the page instead of 404';
shows $nginx->get('/none', 'X-Key' => 'a', 'If-None-Match' => '*'), 304, {used => 1}, 'not modified, and shown as free';
$nginx->stop;
is $redis->used('a'), 1, 'and is';

done;

# After a reload the sentinels are asked as the new configuration says, also while a worker of the old one is still there.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start(sentinel => {password => 'right'});
my sub block ($password) { return $set->block('main', "check_timeout 2s; sentinel_password $password;") }
my $nginx = RateLimit::Nginx->with_limit('1000r/h', block('wrong'), key => 'k', workers => 2, more => 'rate_limit_on_error deny;');
$nginx->wait_log(qr/sentinel \S+ of "main" is down/);
is $nginx->get('/x')->status, 503, 'a wrong password';
my $idle = $nginx->http;
$idle->send("GET /x HTTP/1.1\r\nHost: x\r\n");
wait_until { $idle } what => 'the connection';
$nginx->reload(http => block('right'));
wait_until { $nginx->get('/x')->status == 200 } what => 'the right one to be used';
cmp_ok scalar($nginx->old_workers), '>', 0, 'while an old worker is there';
$idle->send("\r\n");
is $idle->response->status, 200, 'which follows, too';
$nginx->reload(http => block('wrong'));
is $nginx->get('/x')->status, 200, 'what was found before is not forgotten by the next reload';

done;

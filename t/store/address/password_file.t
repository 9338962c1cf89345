# A password in a file that was changed together with the server's: workers log in by the new one without a reload.

use RateLimit::Test;

my $redis = RateLimit::Redis->start(password => 'first');
my $nginx = RateLimit::Nginx->with_limit('1000r/h', redis_block('main', $redis, timeouts('9s') . 'password file:html/secret;'),
    key => 'k', files => {secret => "first\n"}, more => 'add_header X-Outcome $rate_limit_status always;');
is $nginx->get('/x')->header('X-Outcome'), 'PASSED', 'the first password';

write_text($nginx->folder . '/html/secret', "second\n");
$redis->cmd(qw(CONFIG SET requirepass second));
$redis->drop_clients;
wait_until { $nginx->get('/x')->header('X-Outcome') eq 'PASSED' } what => 'a worker that has read the file again';
$nginx->wait_log(qr/\[notice\].* a server of "main" refused the password; "\S+secret" has another one by now/);
is $nginx->count_log(qr/first|second/), 0, 'no line has a password';

done;

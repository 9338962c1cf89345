# A reload that loads the module from another file starts with an empty rate_limit_zone: local windows and waiting charges are
# forgotten, as the log says. A file that replaces the one that is loaded changes nothing.

use RateLimit::Test;
use File::Copy ();

sub copy_to ($name) {
    my $path = test_folder() . "/$name";
    File::Copy::copy(RateLimit::Nginx::module(), "$path.new") or die $!;
    rename "$path.new", $path or die $!;
    return $path;
}

my $redis = RateLimit::Redis->start;
my $store = redis_block('main', $redis, 'check_timeout 2s;');
my $local = 'location / { rate_limit 100r/h; }';
my $both  = "$local location /shared/ { alias %%DIR%%/html/; rate_limit 100r/h store=main; }";
my $nginx = RateLimit::Nginx->start(
    module => copy_to('first.so'), workers => 2, http => "$store rate_limit_key \$http_x_key;", server => $both);

sub shown () { return limits($nginx->get('/x', 'X-Key' => 'a'))->{used} }

my $anew = qr/"rate_limit_zone" .* starts anew/;
is shown(), $_, "charge $_" for 1 .. 3;
copy_to('first.so');
$nginx->reload(wait_old => 1);
is shown(), 4, 'the file was replaced: the window stays';
is $nginx->count_log($anew), 0, 'and there is nothing to say';

$redis->stop;
$nginx->get('/shared/x', 'X-Key' => 'b');
$nginx->wait_log(qr/is down/);
$nginx->reload(module => copy_to('second.so'), wait_old => 1);
is shown(), 1, 'another file: the window is forgotten';
my $warning = qr/\[warn\] .*"rate_limit_zone" will be of another copy of this module: it starts anew, local windows and waiting charges of before are forgotten$/;
is $nginx->count_log($warning), 1, 'as logged';
$nginx->reload(wait_old => 1);
is shown(), 2, 'from then on it stays';

$redis->restart;
my $two = 0;
wait_until { limits($nginx->get('/shared/x', 'X-Key' => 'c'))->{reset} && ++$two == 2 } what => 'charges at Redis';
wait_until { $redis->used('c') } what => 'a charge of the new copy';
is_deeply [grep { /:b$/ } $redis->keys], [], 'the charge that waited is forgotten, too';

$nginx->reload(module => copy_to('third.so'), http => 'rate_limit_zone 2m; rate_limit_key $http_x_key;', server => $local, wait_old => 1);
is shown(), 1, 'another file and another size';
is $nginx->count_log($warning), 2, 'one more line';
is $nginx->count_log($anew), 2, 'and no other';

# nginx would unload what this very process still uses.
my $alone = RateLimit::Nginx->start(
    module => copy_to('first.so'), main => 'master_process off;', workers => 0,
    http => 'rate_limit_key $http_x_key;', server => $local);
is limits($alone->get('/x', 'X-Key' => 'a'))->{used}, 1, 'without a master process';
$alone->{module} = copy_to('second.so');
$alone->write_config;
$alone->{process}->signal('HUP');
my $refused = qr/another copy of ngx_http_rate_limit_module cannot be loaded while nginx runs without a master process: restart it/;
$alone->expect_log($refused)->wait_log(qr/\[emerg\] .*$refused/);
is limits($alone->get('/x', 'X-Key' => 'a'))->{used}, 2, 'another file is refused';

done;

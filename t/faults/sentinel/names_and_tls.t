# Row 18 of the fault matrix: sentinels that tell names, and TLS. The name is what the certificate of a new primary must have. Without a
# resolver a name that stands in "sentinel" is found where it was at the start; another one cannot be found, and the log says so.

use RateLimit::Test;

my $authority = RateLimit::Certificates->authority('ours');
my $set = RateLimit::Sentinels->start(
    tls => {%{$authority->issue('server', 'DNS:localhost')}, trusted => $authority->file}, name => 'localhost');
my $dns = RateLimit::Dns->start(names => {localhost => '127.0.0.1'});
my $resolver = 'resolver ' . $dns->address . ' ipv6=off;';
my $block = $set->block('main', "check_timeout 1s; connect_timeout 1s; ssl on; ssl_trusted_certificate @{[$authority->file]};")
    =~ s/(sentinel .*?;)/$1 =~ s{127\.0\.0\.1}{localhost}gr/er;

my $unable = RateLimit::Nginx->with_limit('1000r/h', $block =~ s/localhost/127.0.0.1/gr =~ s/ssl on;/ssl on; ssl_name localhost;/r, key => 'k', more => 'rate_limit_on_error deny;');
# Asks until the log says that.
my sub wait_told ($nginx, $pattern) {
    return wait_until { $nginx->get('/x'); $nginx->count_log($pattern) } what => $pattern;
}
wait_told($unable, qr/primary localhost:\d+ of shard "mymaster" of "main" is down: its name cannot be resolved: add "resolver" to "http"/);
is $unable->get('/x')->status, 503, 'without a resolver nobody can be asked';
$unable->reload(http => "$block $resolver");
wait_until { $unable->get('/x')->status == 200 } what => 'the resolver to help';
$unable->stop;

my $named = RateLimit::Nginx->with_limit('1000r/h', $block, key => 'k', more => 'rate_limit_on_error deny;');
wait_until { $named->get('/x')->status == 200 } what => 'the name that was resolved at the start';
$named->stop;
is $named->count_log(qr/cannot be resolved/), 0, 'nothing is to be resolved again';

my $books = RateLimit::Books->open($set, block => $block, nginx => {http => $resolver});
$set->primary->kill_in_turn;
my $new = $set->wait_switched($set->{members}[0]);
my $mark = $books->recovered;
$books->traffic->more(200);
$books->served('by the new primary', since => $mark, passes => 1);
$books->served('all the time', since => 0);
like $books->nginx->error_log, qr/sentinels name localhost:\d+ as the primary .*before it was localhost/, 'names are what they tell';
$books->rest->balance;

# A new primary whose certificate has another name.
my $set_of_two = RateLimit::Sentinels->start(
    tls => {%{$authority->issue('another', 'IP:127.0.0.1')}, trusted => $authority->file}, name => 'localhost', masters => {a => {}}, sentinels => 1);
my $strict = RateLimit::Nginx->with_limit('1000r/h', $resolver
        . $set_of_two->block('main', "check_timeout 1s; connect_timeout 1s; ssl on; ssl_trusted_certificate @{[$authority->file]};"),
    key => 'k', more => 'rate_limit_on_error deny;');
wait_told($strict, qr/primary localhost:\d+ of shard "a" of "main" is down: .*(?i:hostname mismatch)/);
is $strict->get('/x')->status, 503, 'a certificate without the name is refused';

done;

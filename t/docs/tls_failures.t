# docs/redis.md says what to do about each way in which TLS to Redis fails: every line that the log then has is in its table, and the
# table has nothing that cannot happen.

use RateLimit::Test;

my ($table) = project_file('docs/redis.md') =~ /^\| why a node `is down` \| .*\n\|[-|]+\n((?:\|.*\n)+)/m or fail('the table');
my @rows = map { my ($cell) = /^\| (.*?) \|/; [$cell =~ /`([^`]+)`/g] } split /\n/, $table;

my $authority = RateLimit::Certificates->authority('ours');
my $other     = RateLimit::Certificates->authority('other');
my $server    = $authority->issue('server', 'IP:127.0.0.1');
my $stranger  = $other->issue('stranger', 'IP:127.0.0.1');
my $unchained = $authority->authority_below('middle')->issue('unchained', 'IP:127.0.0.1');
my $elsewhere = $authority->issue('elsewhere', 'IP:127.0.0.2');
my $expired   = $authority->issue('expired', 'IP:127.0.0.1', from => '20200101000000Z', until => '20210101000000Z');
my $tomorrow  = $authority->issue('tomorrow', 'IP:127.0.0.1', from => '20990101000000Z', until => '20991231000000Z');
my %strict    = (%$server, authority => $authority->file);

my sub redis ($tls, @args) { return RateLimit::Redis->start(tls => $tls, args => \@args) }
my $redis = redis($server);
my $cut   = RateLimit::Proxy->start(to => $redis->tls_port)->cut_after(questions => 100);
my $mute  = RateLimit::Proxy->start(to => $redis->tls_port)->stall('answers');
my $ssl   = "ssl on; ssl_trusted_certificate @{[$authority->file]};";

# Each entry has what is wrong, the server, and the lines of the block.
my @failures = (
    ['an unknown authority',           redis($stranger),  $ssl],
    ['a missing certificate between',  redis($unchained), $ssl],
    ['another address',                redis($elsewhere), $ssl],
    ['another name',                   $redis,            "$ssl ssl_name redis.example.test;"],
    ['an old certificate',             redis($expired),   $ssl],
    ['one of the future',              redis($tomorrow),  $ssl],
    ['no certificate, TLS 1.2',        redis({%strict, protocols => 'TLSv1.2'}), $ssl],
    ['no certificate, TLS 1.3',        redis({%strict, protocols => 'TLSv1.3'}), $ssl],
    ['one of an unknown authority',    redis(\%strict), "$ssl ssl_certificate $stranger->{certificate}; ssl_certificate_key $stranger->{key};"],
    ['one that has expired',           redis(\%strict), "$ssl ssl_certificate $expired->{certificate}; ssl_certificate_key $expired->{key};"],
    ['an old protocol',                redis({%$server, protocols => 'TLSv1.1'}, '--tls-ciphers', 'DEFAULT@SECLEVEL=0'), $ssl],
    ['no common cipher',               redis({%$server, protocols => 'TLSv1.2'}, '--tls-ciphers', 'AES128-SHA'), $ssl],
    ['a port without TLS',             "127.0.0.1:@{[$redis->port]}", $ssl],
    ['a server that does not go on',   $mute, "connect_timeout 100ms; $ssl"],
    ['a connection that is cut',       $cut, $ssl],
    ['a port with TLS, spoken to without', $redis, ''],
);
my %happens;
for (@failures) {
    my ($what, $node, $lines) = @$_;
    $lines .= 'check_timeout 9s;' . ($lines =~ /connect_timeout/ ? '' : 'connect_timeout 2s;');
    my $nginx = RateLimit::Nginx->with_limit('100r/h', redis_block('main', $node, $lines), key => 'k');
    is $nginx->get('/x')->status, 200, "$what: a request";
    $nginx->wait_log(qr/is down/);
    my ($line) = $nginx->error_log =~ /is down: (.*)/;
    my @explained = grep { my $row = $_; grep { index($line, $_) >= 0 } @$row } @rows;
    cmp_ok scalar(@explained), '>=', 1, "it is explained: $line";
    $happens{"@$_"} = 1 for @explained;
    $nginx->stop;
}
ok $happens{"@$_"}, "it happens: @$_" for @rows;

done;

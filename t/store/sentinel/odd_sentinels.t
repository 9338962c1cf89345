# What a sentinel answers that is none, or is broken, changes nothing: the log says so, and others are believed.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my @master = (ip => '127.0.0.1', port => $redis->port, flags => 'master', 'config-epoch' => 1);
my %odd = (
    'nil'                 => nil(),
    'an empty array'      => array(),
    'a number'            => integer(7),
    'a text'              => bulk('x' x 100),
    'a megabyte'          => bulk('x' x 1_000_000),
    'a long array'        => array(map { bulk('x') } 1 .. 30_000),
    'three megabytes'     => array(map { bulk('x' x 100_000) } 1 .. 30),
    'deep arrays'         => ("*1\r\n" x 5000) . ":1\r\n",
    'half of the fields'  => nested([@master[0 .. 5]]),
    'an odd array'        => nested([@master, 'x']),
    'no text'             => array(map { integer(1) } @master),
    'port 0'              => nested([ip => '127.0.0.1', port => 0, flags => 'master', 'config-epoch' => 9]),
    'port 65536'          => nested([ip => '127.0.0.1', port => 65_536, flags => 'master', 'config-epoch' => 9]),
    'no address'          => nested([ip => '', port => $redis->port, flags => 'master', 'config-epoch' => 9]),
    'any address'         => nested([ip => '0.0.0.0', port => $redis->port, flags => 'master', 'config-epoch' => 9]),
    'any IPv6 address'    => nested([ip => '::', port => $redis->port, flags => 'master', 'config-epoch' => 9]),
    'a host with a break' => nested([ip => "a\nb", port => $redis->port, flags => 'master', 'config-epoch' => 9]),
    'a negative epoch'    => nested([ip => '127.0.0.1', port => 1, flags => 'master', 'config-epoch' => -1]),
    'a huge epoch'        => nested([ip => '127.0.0.1', port => 1, flags => 'master', 'config-epoch' => '99999999999999999999']),
    'an error'            => error('ERR what?'),
    'LOADING'             => error('LOADING Redis is loading the dataset in memory'),
    'a line of no answer' => "hello\r\n",
);
my @names = sort keys %odd;
my $odd = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'sentinel';
    return $odd{$conn->state('as')};
}, state => {as => $names[0]});
my $sound = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return fallback($words) if $words->[0] ne 'sentinel';
    return $words->[1] =~ /master/i ? nested([@master]) : array();
});
my $nginx = RateLimit::Nginx->with_limit('100000r/h',
    "rate_limit_redis main { sentinel @{[$odd->address]} @{[$sound->address]} @{[$redis->address]}; shard a master=m; check_timeout 5s; }",
    key => 'k', more => 'rate_limit_on_error deny; rate_limit_mode charge_refund;');
wait_until { $nginx->get('/x')->status == 200 } what => 'the primary to be found';
$nginx->wait_log(qr/sentinel \Q${\ $redis->address}\E of "main" cannot be used: it is no sentinel/);
my $used = 0;
for my $name (@names) {
    $odd->set(as => $name);
    my $asked = scalar $odd->commands('sentinel');
    my $rounds = scalar $sound->commands('sentinel');
    wait_until { $odd->commands('sentinel') >= $asked + 2 || $sound->commands('sentinel') > $rounds + 12 } what => "$name: to be asked for";
    is $nginx->get('/x')->status, 200, "$name: requests pass";
    wait_until { $sound->commands('sentinel') > $rounds } what => "$name: others to be asked";
}
is $nginx->count_log(qr/sentinels name/), 1, 'the primary is named once';
$nginx->wait_log(qr/sentinel \Q${\ $odd->address}\E of "main" cannot be used: its answer is none of a sentinel/);
is $nginx->count_log(qr/exited on signal/), 0, 'no worker dies';
cmp_ok $nginx->count_log(qr/sentinel \Q${\ $odd->address}\E/), '<', 6 * @names, 'few lines tell';

done;

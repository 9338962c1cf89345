# Reading the console changes nothing: after a thousand looks at each page the JSON is the same but for its time, and so is every window.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2,
    http    => redis_block('main', $redis, always_checks()) . ' rate_limit_zone 128k; rate_limit_key $arg_k;',
    server  => 'location /limits/ { rate_limit_console view; }
        location /report { rate_limit_report; rate_limit 3r/d name=here store=local; }
        location /here { rate_limit 3r/d name=here store=local; }
        location /there { rate_limit 3r/d name=there store=main; }',
);
my @keys = map { "k$_" } 1 .. 20;
for my $key (@keys) {
    $nginx->get("/$_?k=$key") for qw(here here there);
}
$nginx->get('/here?k=heavy') for 1 .. 10;

my $json = JSON::PP->new->canonical;
sub told () {
    my $told = $json->decode($nginx->get('/limits/json')->body);
    delete $told->{time};
    delete $_->{minutes} for @{$told->{limits}};    # of another minute there may be one more
    delete $_->{answer_time} for map { @{$_->{nodes}} } map { @{$_->{shards}} } @{$told->{stores}};    # it is measured all the time
    return $json->encode($told);
}
sub windows () { return $json->encode([map { $json->decode($nginx->get("/report?k=$_")->body)->{resources} } @keys]) }

wait_until { (my @charged = $redis->keys) == @keys } what => 'the charges';
my $before = '';
wait_until { my $now = told(); my $same = $now eq $before; $before = $now; $same } what => 'nothing to be under way';
my $windows = windows();

for my $page ('', 'json', 'metrics') {
    is_deeply statuses(map { $nginx->get("/limits/$page") } 1 .. 1000), {200 => 1000}, "a thousand looks at $page";
}
is told(), $before, 'the JSON is as before';
is windows(), $windows, 'and so are the windows';

done;

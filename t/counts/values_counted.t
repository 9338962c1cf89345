# A request that cannot be checked is counted all the same: under the store "*" where a variable names no store, and under its limit where the rate cannot be
# read. All series exist from the first scrape on. The decisions of a limit with a variable store count under the store that the variable names, also where no
# store has to be asked, at 0r/s, as do the keys that the limit rejects, by the id that a request with a window has.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'map $arg_rate $rate { default $arg_rate; zero 0r/s; wrong fast; some 9r/h; }',
    server => 'rate_limit_key $arg_k; rate_limit_store main; add_header X-Id $rate_limit_id always; location /limits/ { rate_limit_console view; }
        location /store { rate_limit $rate name=stored store=$arg_store; }
        location /rate { rate_limit $arg_rate name=rated; rate_limit_on_error deny; }',
);
$nginx->expect_log(qr/rate limit "(?:stored|rated)"|invalid rate/);
my sub page () { return decode_json($nginx->get('/limits/json')->body) }
my sub is_told (%due) {
    my %told = map { ("$_->{name} $_->{store}" => $_->{decisions}) } @{page()->{limits}};
    my %series;
    my $text = $nginx->get('/limits/metrics')->body;
    $series{"$1 $2"}{$3} = $4 while $text =~ /^nginx_rate_limit_decisions_total\{limit="(\w+)",store="([^"]+)",outcome="(\w+)"\} (\d+)$/mg;
    is_deeply \%series, \%told, 'metrics and JSON say the same';
    my %got = map { my $counts = $told{$_}; ($_ => {map { $counts->{$_} ? ($_ => $counts->{$_}) : () } keys %$counts}) } keys %told;
    return is_deeply \%got, {map { $_ => $due{$_} // {} } 'stored local', 'stored main', 'stored *', 'rated main'}, join(', ', sort keys %due) || 'nothing';
}
is_told();
$nginx->get('/store?k=x&store=nowhere&rate=some') for 1 .. 2;
my %id;
for my $store (qw(main local)) {
    is $nginx->get("/store?k=x&store=$store&rate=zero")->status, 429, "$store: at 0r/s nothing passes" for 1 .. 3;
    $nginx->get("/store?k=x&store=$store&rate=wrong") for 1 .. 2;
    my $passed = $nginx->get("/store?k=x&store=$store&rate=some");
    is $passed->status, 200, "$store: at another one something does";
    $id{$store} = $passed->header('X-Id');
}
is $nginx->get('/rate?k=x&rate=fast')->status, 503, 'a rate that is none' for 1 .. 3;
$nginx->get('/rate?k=x&rate=5r/h');
my %each = (passed => 1, rejected => 3, error_allowed => 2);
is_told('stored *' => {error_allowed => 2}, 'stored main' => \%each, 'stored local' => \%each, 'rated main' => {error_denied => 3, passed => 1});
is_deeply {map { $_->{store} => [@$_{qw(id rejected)}] } @{page()->{top}{keys}}}, {map { $_ => [$id{$_}, 3] } qw(main local)}, 'the keys that were rejected';

done;

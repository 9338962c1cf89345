# A request that cannot be checked is counted all the same: under the store "*" where a variable names no store, and under its limit where the rate
# cannot be read. Both series exist from the first scrape on.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis),
    server => 'rate_limit_key $arg_k; rate_limit_store main; location /limits/ { rate_limit_console view; }
        location /store { rate_limit 9r/h name=stored store=$arg_store; }
        location /rate { rate_limit $arg_rate name=rated; rate_limit_on_error deny; }',
);
$nginx->expect_log(qr/rate limit "(?:stored|rated)"/);
my sub told () {
    my %told;
    for my $limit (@{decode_json($nginx->get('/limits/json')->body)->{limits}}) { $told{"$limit->{name} $limit->{store}"} = $limit->{decisions} }
    my (%series, %json);
    my $text = $nginx->get('/limits/metrics')->body;
    $series{"$1 $2"}{$3} = $4 while $text =~ /^nginx_rate_limit_decisions_total\{limit="(\w+)",store="([^"]+)",outcome="(\w+)"\} (\d+)$/mg;
    is_deeply \%series, \%told, 'metrics and JSON say the same';
    return \%told;
}
my sub is_told ($told, %due) {
    my $got = {map { my $counts = $told->{$_}; $_ => {map { $counts->{$_} ? ($_ => $counts->{$_}) : () } keys %$counts} } keys %$told};
    return is_deeply $got, {map { $_ => $due{$_} // {} } 'stored local', 'stored main', 'stored *', 'rated main'}, join(', ', sort keys %due) || 'nothing';
}
is_told(told());
$nginx->get('/store?k=x&store=nowhere') for 1 .. 2;
is $nginx->get('/store?k=x&store=main')->status, 200, 'a store that is one';
is $nginx->get('/rate?k=x&rate=fast')->status, 503, 'a rate that is none' for 1 .. 3;
$nginx->get('/rate?k=x&rate=5r/h');
is_told(told(), 'stored *' => {error_allowed => 2}, 'stored main' => {passed => 1}, 'rated main' => {error_denied => 3, passed => 1});

done;

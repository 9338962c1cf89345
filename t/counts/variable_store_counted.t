# The decisions of a limit with a variable store count under the store that the variable names, also where no store has to be asked: at 0r/s, and
# where the rate cannot be read. The keys that the limit rejects count there too, by the id that a request with a window has.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'map $arg_rate $rate { default $arg_rate; zero 0r/s; wrong fast; some 9r/h; }',
    server => 'rate_limit_key $arg_k; rate_limit_store $arg_store; add_header X-Id $rate_limit_id always; location /limits/ { rate_limit_console view; }
        location / { rate_limit $rate name=v; }',
);
my %id;
for my $store (qw(main local)) {
    is $nginx->get("/?k=x&store=$store&rate=zero")->status, 429, "$store: at 0r/s nothing passes" for 1 .. 3;
    $nginx->get("/?k=x&store=$store&rate=wrong") for 1 .. 2;
    $id{$store} = $nginx->get("/?k=x&store=$store&rate=some")->header('X-Id');
}
$nginx->expect_log(qr/invalid rate|rate limit "v"/);

my $json = decode_json($nginx->get('/limits/json')->body);
my %told = map { $_->{store} => $_->{decisions} } @{$json->{limits}};
for my $store (qw(main local)) {
    is_deeply [@{$told{$store}}{qw(passed rejected error_allowed)}], [1, 3, 2], "$store: what was decided";
}
is sum0(values %{$told{'*'}}), 0, 'and nothing under a store that is none';
is_deeply {map { $_->{store} => [@$_{qw(id rejected)}] } @{$json->{top}{keys}}}, {map { $_ => [$id{$_}, 3] } qw(main local)}, 'the keys that were rejected';

done;

# The captures of a location's regular expression stay as they were for the rest of the request, whatever expressions of maps
# a limit evaluates: in the upstream's address, in a header field and in the access log's name, before and after the
# response. The matches of one evaluation of a limit are no `$1` of the next: clients whose keys are captures of the location stay apart.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => sub ($request, $conn) { return [200, [], $request->{uri}] });
my $up      = 'http://' . $backend->address;
my %limits  = (
    'key'         => 'rate_limit 100r/h name=a key=$of_uri',
    'no_captures' => 'rate_limit $rate name=b',
    'bypass'      => 'rate_limit_bypass $of_uri; rate_limit 100r/h name=c',
    'dry_run'     => 'rate_limit 100r/h name=d dry_run=$of_uri',
    'store'       => 'rate_limit 100r/h name=e store=$store',
    'client_id'   => 'rate_limit 100r/h name=f store=$store; add_header X-Id $rate_limit_id',
    'precontent'  => 'rate_limit 100r/h name=g phase=precontent key=$of_uri',
    map { ("cost_$_" => "rate_limit 100r/h name=$_ mode=$_ cost=\$cost") } qw(check_charge charge_refund lease),
);
my $nginx = RateLimit::Nginx->start(
    http => 'map $uri $of_uri { volatile; ~^/([a-z])([a-z]) $1; }
        map $http_x_key $rate { volatile; ~^user: 5000r/h; default 60r/h; }
        map $uri $store { volatile; ~^/([a-z])([a-z])([a-z]) nowhere$1; }
        map $uri $cost { volatile; ~^/([a-z])([a-z]) 3; }
        map $http_x_word $none { volatile; default ""; "~^(.)(.*)$" ""; }
        map $http_x_word $five { volatile; default 5r/h; "~^(.)(.*)$" 5r/h; }
        rate_limit_key $http_x_key;',
    server => join("\n", map { "location ~ ^/$_/(\\w+)/(\\w+) { $limits{$_}; proxy_pass $up/to/\$1/\$2;
        add_header X-Captured \$1,\$2; access_log %%DIR%%/log-of-\$1-\$2; }" } sort keys %limits)
        . "location /plain { rate_limit 100r/h name=h key=\$of_uri; proxy_pass $up/to/; add_header X-Captured \$1,\$2; }"
        . 'location ~ ^/of_bypass/(\w+) { rate_limit_key $1; rate_limit_bypass $none; rate_limit 5r/h name=i; alias %%DIR%%/html/x; add_header X-Id $rate_limit_id; }
        location ~ ^/of_dry_run/(\w+) { rate_limit 9r/m key=$1 name=j dry_run=$none; rate_limit 5r/h key=$1 name=k; alias %%DIR%%/html/x; add_header X-Id $rate_limit_id; }
        location ~ ^/of_rate/(\w+) { rate_limit $five key=$1 name=l; rate_limit 5r/h key=$1 name=m; alias %%DIR%%/html/x; add_header X-Id $rate_limit_id; }',
);
for my $what (sort keys %limits) {
    my $response = $nginx->get("/$what/one/two", 'X-Key' => 'user:mona');
    is_deeply [$response->body, $response->header('X-Captured')], ['/to/one/two', 'one,two'], $what;
    is limits($response)->{used}, 3, 'the cost' if $what =~ /cost/;
}
is $nginx->get('/plain', 'X-Key' => 'k')->header('X-Captured'), ',', 'a location that captures nothing';
for my $what (qw(of_bypass of_dry_run of_rate)) {
    my @ids = map { $nginx->get("/$what/$_", 'X-Word' => 'no')->header('X-Id') } qw(alice bob alice);
    isnt $ids[0], $ids[1], "$what: two clients, two windows";
    is $ids[2], $ids[0], 'and each has one';
    is limits($nginx->get("/$what/alice"))->{used}, 3, 'also where the map matches nothing';
}
ok $nginx->count_log(qr/"nowheres"/), 'expressions of maps have been matched';
$nginx->stop;
is_deeply [map { m{([^/]+)$} } glob $nginx->folder . '/log-of-*'], ['log-of-one-two'], 'the access log';
is scalar(() = $nginx->lines('log-of-one-two')), scalar keys %limits, 'which has all of them';

done;

# Costs that are sums of products: of what a request says and an upstream answers; an empty factor makes the whole empty, and a
# factor that is no number the whole senseless; what a client writes is no arithmetic.

use RateLimit::Test;

my $backend = RateLimit::Backend->start(handler => \&RateLimit::Backend::as_asked);
my $nginx   = RateLimit::Nginx->start(
    http => 'rate_limit_key $http_x_key; map $arg_none $none { default ""; }',
    up => $backend, server => '
        location /sum { rate_limit 1000r/h "cost=$http_x_in*3+$http_x_out*15+2"; }
        location /part { rate_limit 1000r/h cost=$http_x_in/4+${http_x_out}0; }
        location /capture { location ~ ^/capture/(\d+)/(\d+)$ { rate_limit 1000r/h cost=$1$2*2+$1; } }
        location /whole { rate_limit 1000r/h cost=$http_x_in/1; }
        location /seven { rate_limit 1000r/h cost=7/1; }
        location /constant { rate_limit_cost 2*3+5/2; rate_limit 1000r/h; }
        location /up { rate_limit 1000r/h cost=$upstream_http_x_cost*2+1; proxy_pass http://%%UP%%; }
        location /before { rate_limit 1000r/h name=before mode=charge_refund cost=$http_x_in*$http_x_out; }',
);

sub used ($path, $in, $out, $key = "$path $in $out") {
    return limits($nginx->get($path, 'X-Key' => $key, 'X-In' => $in, 'X-Out' => $out))->{used};
}

is used('/sum', 10, 20), 332, 'a sum of products';
is used('/sum', 0, 0), 2, 'nothing but the constant';
is used('/sum', '', 20), 1, 'an empty factor makes the whole empty, which is 1';
is used('/sum', '0*0', 20), 1, 'what a client says is no arithmetic';
is used('/sum', '999999999999999999', '999999999999999999'), 1, 'what is too great is senseless, too';
ok $nginx->count_log(qr/invalid cost "0\*0" of rate limit "default" in .*:\d+ counts as 1: it is a whole number from 0 to 1000000000000/), 'it is logged';
is used('/part', 1025, 6), 317, 'a division is rounded up; digits behind a variable are one factor with it';
is used('/part', 0, ''), 0, '... which need not be empty where the variable is';
is used('/whole', 25, 0), 25, 'divided by one, alone';
is used('/seven', 0, 0), 7, '... a constant, too';
is limits($nginx->get('/capture/1/2', 'X-Key' => 'c'))->{used}, 25, 'captures';
is limits($nginx->get('/constant', 'X-Key' => 'constant'))->{used}, 9, 'constants alone, of the directive';
is limits($nginx->get('/up?cost=21', 'X-Key' => 'up'))->{used}, 43, 'of what the upstream says';
is limits($nginx->get('/up', 'X-Key' => 'none'))->{used}, 1, '... where it says nothing';
is used('/before', 20, 30), 600, 'before the request';
wait_until { $nginx->count_log(qr/invalid cost "\$http_x_in\*3\+\$http_x_out\*15\+2" of rate limit "default"/) } what => 'the line of the whole sum that was too great';
is $nginx->get('/before', 'X-Key' => '/before 20 30', 'X-In' => 20, 'X-Out' => 30)->status, 429, '... which it can refuse';

done;

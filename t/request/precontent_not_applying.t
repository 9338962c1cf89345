# A location whose limits do not apply to a request, in whatever phase, leaves it to the location that a redirect leads to.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main') . 'rate_limit_store main;',
    server => 'location /access { rate_limit_key $http_x_none; rate_limit 1r/h phase=access; try_files /none /last; }
        location /precontent { rate_limit_key $http_x_none; rate_limit 1r/h phase=precontent; try_files /none /last; }
        location /last { rate_limit_key $http_x_key; rate_limit 1r/h name=last; }',
);

for my $from (qw(/last /access /precontent)) {
    my @client = ('X-Key' => $from);
    is $nginx->get($from, @client)->status, 200, "$from: the first request";
    wait_until { $shards->primary->used($from, 'last/3600') } what => 'its charge';
    is $nginx->get($from, @client)->status, 429, "$from: the second is over the last location's limit";
}

done;

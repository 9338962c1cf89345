# phase=precontent: the key may use what authentication found out; with access limits in the same location
# both apply, a rejection leaves the access limits uncharged, and each phase runs once.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $redis  = $shards->primary(0);
my $nginx  = RateLimit::Nginx->start(
    files => {htpasswd => "ann:{PLAIN}secret\n"},
    http  => $shards->block('main', always_checks()) . 'rate_limit_store main; rate_limit_headers github ietf;',
    server => 'auth_basic x; auth_basic_user_file %%DIR%%/html/htpasswd;
        location / {
            rate_limit 9r/h name=address key=$http_x_key;
            rate_limit 2r/h name=user key=$remote_user phase=precontent;
            try_files /none $uri /x;
        }
        location /only/ { alias %%DIR%%/html/; rate_limit_phase precontent; rate_limit_key $remote_user;
            rate_limit 2r/h name=only; }
        location /back/ { alias %%DIR%%/html/; rate_limit_phase precontent; rate_limit_key $remote_user;
            rate_limit 9r/h name=back; rate_limit 9r/h name=early key=$http_x_key phase=access; }',
);
my @ann = ('Authorization' => 'Basic YW5uOnNlY3JldA==', 'X-Key' => 'a');

sub is_stored ($name, $key, $count) {
    return wait_until { $shards->replica->used($key, "$name/3600") == $count } what => "$count charges of $name";
}

$shards->replica->wait_connected;
is $nginx->get('/only/x', 'Authorization' => 'Basic YW5uOndyb25n')->status, 401,
    'a name that is not verified';
is $nginx->get('/only/x')->status, 401, 'or none';
for my $n (1, 2) {
    my $response = $nginx->get('/', @ann);
    is $response->status, 200, "request $n passes both";
    is $response->header('RateLimit') =~ s/;t=\d+//gr, sprintf('"address";r=%d, "user";r=%d', 9 - $n, 2 - $n),
        'both are shown';
    is limits($response)->{resource}, 'user', 'by the one with the least remaining';
    is_stored(address => a => $n);
    is_stored(user => ann => $n);
}
my $rejected = $nginx->get('/', @ann);
is $rejected->status, 429, 'the precontent limit rejects';
is_deeply [@{limits($rejected)}{qw(limit used remaining resource)}], [2, 2, 0, 'user'], 'and is shown';
like $rejected->header('RateLimit'), qr/^"address";r=7;t=\d+, "user";r=0;t=\d+$/,
    'beside what the access limit knew';
is_deeply [map { $nginx->get('/only/x', @ann)->status && is_stored(only => ann => $_) && $_ } 1, 2], [1, 2],
    'alone';
is $nginx->get('/only/x', @ann)->status, 429, 'it rejects too';
shows $nginx->get('/back/x', 'X-Key' => 'b'), 401, {used => 1, resource => 'early'},
    'who fails to authenticate is charged by the access limit alone';
$nginx->stop;
is_deeply $redis->used_by_key, {
    'rl:address/3600:a' => 2, 'rl:user/3600:ann' => 2, 'rl:only/3600:ann' => 2, 'rl:early/3600:b' => 1,
}, 'a rejected request is charged nowhere';
is $shards->replica->calls('hmget'), 3 * 2 + 3 + 1 - 2,
    'a check for each limit and request, but for what is used up';

done;

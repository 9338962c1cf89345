# Under `satisfy any` a limit that allows lets nobody past authentication, and one that rejects with 401 or
# 403 is not overruled by a later module's OK, nor delayed by auth_delay.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    files => {htpasswd => "user:{PLAIN}secret\n"},
    http  => $shards->block('main') . 'rate_limit_store main; rate_limit_key $http_x_key; satisfy any;',
    server => join "\n", 'location /auth/ {
            alias %%DIR%%/html/; rate_limit 3r/h name=auth;
            deny all; auth_basic x; auth_basic_user_file %%DIR%%/html/htpasswd;
        }',
        map { "location /reject$_/ {
            alias %%DIR%%/html/; allow all; auth_delay 30s; rate_limit 1r/h name=reject$_;
            rate_limit_status $_;
        }" } 401, 403, 407, 429,
);
my @user = (Authorization => 'Basic dXNlcjpzZWNyZXQ=');

shows $nginx->get('/auth/x', 'X-Key' => 'a'), 401, {used => 1},
    'an allowed request is still asked for its password, and was counted';
is $nginx->get('/auth/x', 'X-Key' => 'a', @user)->status, 200, 'the password opens';
is $nginx->get('/auth/x', 'X-Key' => 'a')->status, 401, 'not for others';
shows $nginx->get('/auth/x', 'X-Key' => 'a', @user), 429, {used => 3},
    'over the limit the password does not help, each of the three was charged once';

for my $status (401, 403, 407, 429) {
    is $nginx->get("/reject$status/x", 'X-Key' => 'a')->status, 200, 'allow all lets the first in';
    my $rejected = $nginx->get("/reject$status/x", 'X-Key' => 'a');
    is $rejected->status, $status, "a rejection with $status stays under allow all";
    ok limits($rejected)->{retry_after} > 3600 - patience(100), 'and says when to come back';
}

done;

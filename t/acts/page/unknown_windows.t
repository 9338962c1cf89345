# The page of an act says that nothing is used only where that is known: not where the store did not answer, nor where the act names no key, so that nobody
# was asked.

use RateLimit::Test;

my $gone  = free_port();
my $nginx = RateLimit::Nginx->start(
    http   => "rate_limit_redis gone { shard a primary=127.0.0.1:$gone; } rate_limit_key \$http_x_key;",
    server => 'location /limits/ { rate_limit_console manage; } location /gone { rate_limit 5r/h name=gone store=gone; } location /mine { rate_limit 5r/h name=mine; }',
);
my sub page ($body) {
    my $response = $nginx->post('/limits/key', $body, 'Content-Type' => 'application/x-www-form-urlencoded', Accept => 'text/html');
    is $response->status, 200, $body;
    return $response->body;
}
my $nothing = qr/nothing is used/;
my $away    = qr/What is used is not known: the store did not answer\./;

for my $act ('do=ban', 'do=allow', 'do=clear') {
    my $page = page("$act&key=a&limit=gone");
    like $page, $away, '... with the store away';
    unlike $page, $nothing, '... does not say that nothing is used';
}
for my $limit ('gone', 'mine') {
    for my $act ('do=off', 'do=enforce&percent=5', 'do=clear') {
        unlike page("$act&limit=$limit"), qr/$nothing|$away/, '... asks for no key, and says nothing of one';
    }
}
like page("${_}key=a&limit=mine"), $nothing, '... where it is known' for '', 'do=ban&', 'do=clear&';

done;

# While Redis is away requests run on the slots that their machine has, and rate_limit_on_error decides on those that find none. Whatever runs when
# it is back is counted there again, though no further request comes to its machine.

use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $backend = RateLimit::Backend->start;
my ($nginx, $other) = map {
    RateLimit::Nginx->start(
        up => $backend, workers => 2, http => redis_block('main', $redis, 'check_timeout 500ms; connect_timeout 2s;'),
        server => 'rate_limit_key $arg_k; rate_limit_store main; rate_limit_on_error allow; add_header X-Outcome $rate_limit_status always;
            location / { rate_limit_concurrency 4; proxy_pass http://%%UP%%; }
            location /deny { rate_limit_on_error deny; rate_limit_concurrency 4; proxy_pass http://%%UP%%; }
            location /local { rate_limit_on_error local; rate_limit_concurrency 4; proxy_pass http://%%UP%%; }')
} 1 .. 2;
sub held ($key) { return join ' ', sort map { /^([1-9]\d*) / } values %{$redis->hash("rl:concurrency/n:$key")} }

for my $away ('killed', 'frozen') {
    my %key = map { $_ => "$_-$away" } qw(held none local);
    my @open = map { $nginx->reach($backend, "/slow?k=$key{held}") } 1 .. 3;
    is held($key{held}), '3', "$away: three run";
    $away eq 'killed' ? $redis->kill : $redis->freeze;
    $_->get('/x?k=first') for ($nginx, $other) x 4;    # all know that it is away

    is outcome($nginx->get("/deny?k=$key{held}")), '503 ERROR_DENIED', "$away: deny denies";
    is outcome($nginx->get("/deny?k=$key{none}")), '503 ERROR_DENIED', '... also the first request of a key';
    is outcome($nginx->get("/x?k=$key{none}")), '200 ERROR_ALLOWED', 'allow allows';
    push @open, map { $nginx->reach($backend, "/local/slow?k=$key{local}") } 1 .. 4;
    is outcome($nginx->get("/local?k=$key{local}")), '429 REJECTED', 'local lets as many run on this machine';
    push @open, map { $nginx->reach($backend, "/slow?k=$key{none}") } 1 .. 6;
    push @open, $nginx->reach($backend, "/local/slow?k=$key{held}");
    is outcome($nginx->get("/local?k=$key{held}")), '429 REJECTED', '... counting those that run already';

    $away eq 'killed' ? $redis->restart : $redis->thaw;
    my %wanted = (held => 4, none => 6, local => 4);
    wait_until { !grep { held($key{$_}) ne $wanted{$_} } keys %wanted } what => "all that runs to be counted ($away)"
        or diag explain {map { $_ => held($_) } values %key};
    $_->wait_up_again for $nginx, $other;
    for my $key (@key{qw(held none local)}) {
        wait_until { outcome($other->get("/x?k=$key")) eq '429 REJECTED' } what => "$key: another machine to ask";
    }
    is_deeply [map { outcome($other->get("/x?k=$_")) } @key{qw(held none local)}], [('429 REJECTED') x 3], 'another machine lets none in';
    $backend->release('gate');
    my %count;
    $count{outcome($_->response)}++ for @open;
    is_deeply \%count, {'200 PASSED' => 3, '200 ERROR_ALLOWED' => 6, '200 ERROR_LOCAL' => 5}, 'all end';
    wait_until { !grep { held($_) } values %key } what => 'all slots to go back';
    wait_until { outcome($other->get("/x?k=$key{none}")) eq '200 PASSED' } what => 'another machine to have a slot';
}

done;

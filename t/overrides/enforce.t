# `enforce` replaces the dry run for a share of the keys: 20% ± 2 of 10,000, and who is in at one share is in at all greater ones. It is a hash of the key
# alone, as it reaches Redis, the same in another store and on another machine. 0 is a dry run for all, 100 for nobody.

use RateLimit::Test;
use JSON::PP;

my @start = (
    workers => 2, reuseport => 1, http => 'rate_limit_key $http_x_key; rate_limit_zone 8m;',
    server  => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 0r/s; rate_limit_dry_run on; }
        location /enforced/ { alias %%DIR%%/html/; rate_limit 0r/s name=enforced; }',
);
my @machines = map { RateLimit::Nginx->start(@start) } 1 .. 2;
my sub act ($nginx, %fields) {
    my $response = $nginx->post('/limits/key', join('&', map { "$_=$fields{$_}" } sort keys %fields),
        'Content-Type' => 'application/x-www-form-urlencoded');
    return $response->status == 200 ? decode_json($response->body) : $response;
}

my @keys = map { "user-$_" } 1 .. 10_000;
my sub rejected ($nginx, @of) {
    my @responses = $nginx->parallel(connections => 20, requests => [map { ['/x', 'X-Key' => $_] } @of]);
    return map { $of[$_] } grep { $responses[$_]->status == 429 } 0 .. $#of;
}

is_deeply [rejected($machines[0], @keys[0 .. 99])], [], 'a dry run';
my %before;
for my $percent (0, 20, 50, 100) {
    is act($_, do => 'enforce', limit => 'default', percent => $percent, for => '1h')->{override}{percent}, $percent, "$percent%" for @machines;
    my @of = $percent % 100 ? @keys : @keys[0 .. 1999];    # all or none
    my @in = rejected($machines[0], @of);
    cmp_ok abs(@in - @of * $percent / 100), '<=', $percent % 100 ? 200 : 0, @in . ' of ' . @of . ' keys';
    my %in = map { $_ => 1 } @in;
    is_deeply [grep { !$in{$_} } grep { $before{$_} } @of], [], '... and all of before';
    is_deeply [rejected($machines[1], @keys[0 .. 499])], [grep { $in{$_} } @keys[0 .. 499]], '... the same on another machine';
    %before = %in;
}
is act($machines[0], do => 'enforce', limit => 'enforced', percent => 0)->{override}{kind}, 'enforce', 'also a limit that is enforced';
is $machines[0]->get('/enforced/x', 'X-Key' => 'a')->status, 200, '... is in a dry run then';

for my $percent ('', -1, 101, '1.5', 'x') {
    is act($machines[0], do => 'enforce', limit => 'default', percent => $percent)->status, 400, "percent=$percent is refused";
}
is act($machines[0], do => 'enforce', limit => 'default', percent => 1, key => 'a')->status, 400, 'so is a key';
done;

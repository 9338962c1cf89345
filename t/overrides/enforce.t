# `enforce` replaces the dry run for a share of the keys, of which t/unit/override_table_test.cpp tells the size: who is in at one share is in at all greater
# ones, the same on another machine. 0 is a dry run for all, 100 for nobody.

use RateLimit::Test;

my @start = (
    workers => 2, reuseport => 1, http => 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location / { rate_limit 0r/s; rate_limit_dry_run on; }
        location /enforced/ { alias %%DIR%%/html/; rate_limit 0r/s name=enforced; }',
);
my @machines = map { RateLimit::Nginx->start(@start) } 1 .. 2;
my @keys     = map { "user-$_" } 1 .. 300;
my sub rejected ($nginx) {
    my @responses = $nginx->parallel(connections => 20, requests => [map { ['/x', 'X-Key' => $_] } @keys]);
    return map { $keys[$_] } grep { $responses[$_]->status == 429 } 0 .. $#keys;
}

is_deeply [rejected($machines[0])], [], 'a dry run';
my %before;
for my $percent (0, 20, 50, 100) {
    is $_->does(do => 'enforce', limit => 'default', percent => $percent, for => '1h')->{override}{percent}, $percent, "$percent%" for @machines;
    my @in = rejected($machines[0]);
    cmp_ok abs(@in - @keys * $percent / 100), '<=', $percent % 100 ? 30 : 0, @in . ' of ' . @keys . ' keys';
    my %in = map { $_ => 1 } @in;
    is_deeply [grep { !$in{$_} } keys %before], [], '... and all of before';
    is_deeply [rejected($machines[1])], \@in, '... the same on another machine';
    %before = %in;
}
my $nginx = $machines[0];
is $nginx->does(do => 'enforce', limit => 'enforced', percent => 0)->{override}{kind}, 'enforce', 'also a limit that is enforced';
is $nginx->get('/enforced/x', 'X-Key' => 'a')->status, 200, '... is in a dry run then';

for my $percent ('', -1, 101, '1.5', 'x') {
    is $nginx->act(do => 'enforce', limit => 'default', percent => $percent)->status, 400, "percent=$percent is refused";
}
is $nginx->act(do => 'enforce', limit => 'default', percent => 1, key => 'a')->status, 400, 'so is a key';
done;

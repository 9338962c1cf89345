# The matches of one evaluation of a limit are no `$1` of the next: clients whose keys are captures of the location stay
# apart, whatever a map of bypass, dry run or rate has matched before.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    http => 'map $http_x_word $none { volatile; default ""; "~^(.)(.*)$" ""; }
        map $http_x_word $rate { volatile; default 5r/h; "~^(.)(.*)$" 5r/h; }',
    server => 'add_header X-Id $rate_limit_id;
        location ~ ^/bypass/(\w+) { rate_limit_key $1; rate_limit_bypass $none; rate_limit 5r/h name=a; alias %%DIR%%/html/x; }
        location ~ ^/dry_run/(\w+) { rate_limit 9r/m key=$1 name=b dry_run=$none; rate_limit 5r/h key=$1 name=c; alias %%DIR%%/html/x; }
        location ~ ^/rate/(\w+) { rate_limit $rate key=$1 name=d; rate_limit 5r/h key=$1 name=e; alias %%DIR%%/html/x; }',
);
for my $what (qw(bypass dry_run rate)) {
    my @ids = map { $nginx->get("/$what/$_", 'X-Word' => 'no')->header('X-Id') } qw(alice bob alice);
    isnt $ids[0], $ids[1], "$what: two clients, two windows";
    is $ids[2], $ids[0], 'and each has one';
    is limits($nginx->get("/$what/alice"))->{used}, 3, 'also where the map matches nothing';
}

done;

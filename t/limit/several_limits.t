# Several limits of one location: any that rejects rejects, then none is charged; else each is charged on
# its own. The github headers show the one that rejected, else the one with the least remaining; the ietf
# headers list all.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2);
my $nginx  = RateLimit::Nginx->start(
    http   => $shards->block('main') . 'rate_limit_store main; rate_limit_headers github ietf;',
    server => 'location / {
            rate_limit 3r/m name=burst key=$http_x_address;
            rate_limit 10r/h name=user key=$http_x_user;
            rate_limit 6r/d name=team key=$http_x_team cost=2;
        }
        location /equal/ { alias %%DIR%%/html/; rate_limit 5r/h name=one key=k; rate_limit 5r/d name=two key=k; }',
);
my %period = (user => 3600, team => 86_400, burst => 60);

sub ask ($address, $user, $team) { return $nginx->get('/x', 'X-Address' => $address, 'X-User' => $user, 'X-Team' => $team) }
sub used ($name, $key) { return $shards->used("rl:$name/$period{$name}:$key") }

my $first = ask('a', 'u', 't');
is_deeply [@{limits($first)}{qw(limit used remaining resource)}], [3, 1, 2, 'burst'], 'the least remaining is shown';
is $first->header('RateLimit-Policy'), '"burst";q=3;w=60, "user";q=10;w=3600, "team";q=6;w=86400', 'all policies';
my @left = $first->header('RateLimit') =~ /^"burst";r=2;t=(\d+), "user";r=9;t=(\d+), "team";r=4;t=(\d+)$/;
ok @left && about($left[0], 60, 2) && about($left[1], 3600, 2) && about($left[2], 86_400, 2), 'all limits';
is $first->all('RateLimit'), 1, 'in one field';
is_deeply [@{limits(ask('b', 'u', 't'))}{qw(used remaining resource)}], [1, 2, 'burst'], 'of equals the first';
is_deeply [@{limits(ask('c', 'u', 't'))}{qw(limit used remaining resource)}], [6, 6, 0, 'team'], 'its cost counts';
my $rejected = ask('d', 'u', 't');
shows $rejected, 429, {limit => 6, used => 6, remaining => 0, resource => 'team'}, 'the team is at its limit, and shown';
ok limits($rejected)->{retry_after} > 86_400 - patience(400), 'with its Retry-After';
like $rejected->header('RateLimit'), qr/^"burst";r=3;t=60, "user";r=7;t=\d+, "team";r=0;t=\d+$/, 'the others as stored';
is ask('d', 'v', 'x')->status, 200, 'another team passes';
is ask('', '', 'x')->header('RateLimit-Policy'), '"team";q=6;w=86400', 'limits without a key do not apply';
is limits(ask('', '', ''))->{limit}, undef, 'nor all';
is limits($nginx->get('/equal/x'))->{resource}, 'one', 'of equals the first line';
$nginx->stop;
is_deeply [map { used(user => $_) } qw(u v)], [3, 1], 'charged each on its own';
is_deeply [map { used(burst => $_) } qw(a b c d)], [1, 1, 1, 1], 'none for the rejected';
is_deeply [map { used(team => $_) } qw(t x)], [6, 4], 'the team by its cost';

done;

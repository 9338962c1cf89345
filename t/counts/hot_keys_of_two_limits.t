# Each hot key has its line, with its own limit and what helps there: also where two limits have the same key, and where one has mode=lease already.

use RateLimit::Test;
use RateLimit::HotKeys;

my $shards = RateLimit::Shards->start(1);
my $nginx  = RateLimit::Nginx->start(
    clock  => 1, http => $shards->block('main') . 'keepalive_requests 1000000; add_header X-Id $rate_limit_id; rate_limit_key $arg_k; rate_limit_store main;',
    server => 'location / { rate_limit 1000000r/h name=api mode=charge_refund; } location /b { rate_limit 1000000r/s burst=1000000 name=burst; }
        location /l { rate_limit 1000000r/h name=lease mode=lease; rate_limit_lease 1; }',
);
my $hot = RateLimit::HotKeys->new($nginx);
my %id  = (api => $hot->id_of('/x?k=hot'), burst => $hot->id_of('/b?k=hot'), lease => $hot->id_of('/l?k=hot'));

$hot->flood(40_000, '/x?k=hot' => 30, '/b?k=hot' => 30, '/l?k=hot' => 30, '/x?k=*' => 10);
$hot->next_minute->wait_lines(3);
my %line = map { $_->{limit} => $_ } $hot->lines;
is_deeply {map { $_ => $line{$_}{id} } keys %line}, \%id, 'each limit by itself';
is $line{$_}{remedy}, 'mode=lease asks less', "what helps $_" for qw(api burst);
is $line{lease}{remedy}, 'it has mode=lease: a greater limit, or a key that tells clients apart, asks less', '... where it is leased';

done;

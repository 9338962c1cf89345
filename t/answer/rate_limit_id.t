# $rate_limit_id, and the log line of a rejection, tell clients apart without saying who they are: 16 hex digits of store,
# name and key, whatever the rate and its period; the same in all workers and after a reload, others in another zone.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1);
my %conf = (
    http => $shards->block('main') . '
        rate_limit_redis gone { shard g primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_redis digested { key_digest sha256; prefix d:; shard a primary=' . $shards->primary->address . '; }
        rate_limit_key $http_x_key; rate_limit_bypass $arg_bypass;
        log_format id "$uri $http_x_key <$rate_limit_id>"; add_header X-Id $rate_limit_id always;',
    server => 'access_log %%DIR%%/ids id;
        location / { rate_limit 9r/h name=core; }
        location /minute { rate_limit 9r/m name=core; } location /clock { rate_limit 9r/h name=core window=clock; }
        location /zero { rate_limit 0r/h name=core; } location /other { rate_limit 9r/h name=other; }
        location /variable { rate_limit 9r/h name=core store=$http_x_store; }
        location /redis { rate_limit 1r/h name=core store=main; }
        location /refund { rate_limit 9r/h name=refund store=main mode=charge_refund cost=10; }
        location /digested { rate_limit 9r/h name=core store=digested; }
        location /gone { rate_limit 9r/h name=core store=gone; } location /rate { rate_limit $http_x_rate name=core; }
        location /two { rate_limit 9r/h name=core; rate_limit 3r/h name=small; }
        location /none { }',
);
my $nginx = RateLimit::Nginx->start(workers => 2, %conf);
my $elsewhere = RateLimit::Nginx->start(%conf);

sub id ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more)->header('X-Id') }

my $id = id('/x', 'secret');
like $id, qr/^[0-9a-f]{16}$/, '16 hex digits';
is id($_, 'secret'), $id, "$_: the same" for qw(/x /minute /clock /zero);
is id('/variable', 'secret', 'X-Store' => 'local'), $id, 'the store by a variable';
is id('/rate', 'secret', 'X-Rate' => 'many'), $id, 'also after a rate that is none';
my %other = (
    'another key' => id('/x', 'secret2'), 'another name' => id('/other', 'secret'), 'another store' => id('/redis', 'secret'),
    'another zone' => $elsewhere->get('/x', 'X-Key' => 'secret')->header('X-Id'), 'a digested key' => id('/digested', 'secret'),
    'a store that is away' => id('/gone', 'secret'), 'a long key' => id('/x', 'k' x 1000),
    'a store that is none' => id('/variable', 'secret', 'X-Store' => 'nowhere'),
);
is keys %{{reverse %other, $id => 1}}, 1 + keys %other, 'another one for: ' . join ', ', sort keys %other;
is id('/variable', 'secret', 'X-Store' => 'gone'), $other{'a store that is away'}, 'by a variable, too';
is id('/two', 'secret'), id('/two', 'secret'), 'of two limits';
isnt id('/two', 'secret'), $id, 'that of the one that is shown';
is_deeply [id('/none', 'k'), id('/x', ''), id('/x?bypass=1', 'secret')], [], 'none where no limit applies';

is $nginx->get('/redis', 'X-Key' => 'secret')->status, 429, 'a rejection';
my $redis_id = $other{'another store'};
$nginx->wait_log(qr/rate limit "core" exceeded: 1 used of 1 in 3600 s, id $redis_id,/);
pass 'the log line has it';
id('/refund', 'secret');
$nginx->wait_log(qr/rate limit "refund" exceeded: a cost of 10 is above the whole limit, 0 used of 9 in 3600 s, id [0-9a-f]{16},/);
unlike $nginx->error_log =~ s/request: "[^"]*"//gr, qr/secret/, 'and nothing has the key';
$nginx->wait_line('ids', "/redis secret <$redis_id>");

$nginx->reload(%conf);
is id('/x', 'secret'), $id, 'the same after a reload';

done;

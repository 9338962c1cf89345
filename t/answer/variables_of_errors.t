# After an error the variables describe the first limit that failed, beside one that passed, with its resource and its
# shard; the headers go on showing what is known.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, names => ['up']);
my $nginx  = RateLimit::Nginx->start(
    http => $shards->block('main') . '
        rate_limit_redis gone { shard dead primary=127.0.0.1:%%PORT_1%%; }
        rate_limit_redis away { shard far primary=127.0.0.1:%%PORT_2%%; }
        rate_limit_key $http_x_key; rate_limit_store main;
        add_header X-Described "$rate_limit_status $rate_limit_resource,$rate_limit_shard,$rate_limit_limit,$rate_limit_used" always;',
    server => '
        location /after { rate_limit 5r/h name=well; rate_limit 9r/h name=lost store=gone; rate_limit 9r/h name=far store=away; }
        location /before { rate_limit 9r/h name=lost store=gone; rate_limit 5r/h name=well; }
        location /denied { rate_limit_on_error deny; rate_limit 5r/h name=well; rate_limit 9r/h name=lost store=gone; }
        location /local { rate_limit_on_error local; rate_limit 5r/h name=well; rate_limit 9r/h name=lost store=gone; }
        location /dry { rate_limit 0r/h name=dry dry_run=on; rate_limit 9r/h name=lost store=gone; }
        location /rate { rate_limit 5r/h name=well; rate_limit $http_x_rate name=odd; }
        location /store { rate_limit 5r/h name=well; rate_limit 5r/h name=odd store=$http_x_store; }
        location /rejected { rate_limit 9r/h name=lost store=gone; rate_limit 0r/h name=none; }',
);

sub described ($uri, $key, @more) { return $nginx->get($uri, 'X-Key' => $key, @more)->header('X-Described') }

is described('/after', 'a'), 'ERROR_ALLOWED lost,dead,,', 'the second of three failed, and the third';
is described('/before', 'b'), 'ERROR_ALLOWED lost,dead,,', 'the first failed';
is described('/denied', 'c'), 'ERROR_DENIED lost,dead,,', 'denied';
is described('/local', 'd'), 'ERROR_LOCAL lost,dead,9,1', 'with its numbers, where this machine has them';
is described('/dry', 'e'), 'REJECTED_DRY_RUN dry,,0,0', 'what goes before an error does so here';
is described('/rejected', 'f'), 'REJECTED none,,0,0', 'as a rejection does';
is described('/rate', 'g', 'X-Rate' => 'many'), 'ERROR_ALLOWED odd,,,', 'a rate that is none';
is described('/store', 'h', 'X-Store' => 'nowhere'), 'ERROR_ALLOWED odd,,,', 'a store that is none';
is limits($nginx->get('/after', 'X-Key' => 'i'))->{resource}, 'well', 'the headers show the window that is known';

done;

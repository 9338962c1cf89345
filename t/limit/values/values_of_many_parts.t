# A value may have any number of parts, all of them empty too, and the location's expression any number of groups.

use Digest::SHA qw(sha256_hex);
use RateLimit::Test;

my $redis   = RateLimit::Redis->start;
my $groups  = 40;
my @parts   = map { ("$_:", "\${arg_p$_}", '${m}') } 1 .. 50;
my $nginx   = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'map $http_x_word $m { volatile; default "-"; "~^(w)(o)(r)" "$3"; }
        log_format last $last; access_log %%DIR%%/ends last; rate_limit_store main;',
    server => 'location /many { rate_limit_key "' . join('', @parts) . '"; rate_limit 9r/h; }
        location ~ ^/groups/' . '(.)' x ($groups - 1) . '(?<last>.)$ { rate_limit_key "$m$9$m$1"; rate_limit 9r/h; try_files /x =404; }
        location ~ ^/empty/(a)?(?<none>b)?$ { rate_limit_key "key$1${none}$http_x_none$arg_p1"; rate_limit 9r/h; try_files /x =404; }',
);
$nginx->get('/many?' . join('&', map { "p$_=v$_" } 1 .. 50), 'X-Word' => 'word');
$nginx->get('/groups/' . join '', map { $_ % 10 } 1 .. $groups);
$nginx->get('/empty/');
$nginx->stop;
is_deeply [sort $redis->keys], [sort 'rl:default/3600:-9-1', 'rl:default/3600:key', 'rl:default/3600#' . sha256_hex(join '', map { "$_:v${_}r" } 1 .. 50)],
    'the keys';

done;

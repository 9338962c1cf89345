# prefix and key_digest: the keys in Redis, byte for byte.

use RateLimit::Test;
use Digest::SHA qw(sha256_hex hmac_sha256_hex);

my $redis   = RateLimit::Redis->start;
my $address = $redis->address;
my $secret  = "a secret of some length";
my %block = (
    plain  => '',
    named  => 'prefix "api {1}: ";',
    none   => 'prefix "";',
    sha    => 'prefix s:; key_digest sha256;',
    hmac   => 'prefix h:; key_digest hmac:html/secret;',
    binary => 'prefix b:;',
);
my $shard  = "check_timeout 5s; shard a primary=$address;";
my @stores = map { "rate_limit_redis $_ { $shard $block{$_} }\n" } sort keys %block;
my @limits = map { "location /$_ { rate_limit 9r/m name=$_ store=$_; }\n" } sort keys %block;
my $nginx  = RateLimit::Nginx->start(
    http   => join('', @stores),
    server => join('', 'rate_limit_key $http_x_key;', @limits)
        . 'location /clock { rate_limit 9r/h name=clock window=clock store=plain; }'
        . 'location /addr { rate_limit 9r/d name=addr key=$rate_limit_binary_addr store=binary; }',
    files => {secret => "$secret\n"},
);

sub lands ($uri, $key, $expected, $what) {
    $redis->flush;
    $nginx->get($uri, 'X-Key' => $key);
    wait_until { () = $redis->keys } what => "a key for $uri";
    return is_deeply [$redis->keys], [$expected], $what;
}
my ($most, $more) = ('k' x 128, 'k' x 129);
lands('/plain', 'alice', 'rl:plain/60:alice', 'the default prefix');
lands('/named', 'alice', 'api {1}: named/60:alice', 'a prefix');
lands('/none',  'alice', 'none/60:alice', 'an empty one');
lands('/clock', 'alice', 'rl:clock/3600c:alice', 'windows of the clock have a mark');
lands('/plain', "a:b#c/\xc3\xa9 %41", "rl:plain/60:a:b#c/\xc3\xa9 %41", 'any bytes of the key');
lands('/plain', $most,  "rl:plain/60:$most", '128 bytes are kept');
lands('/plain', $more,  'rl:plain/60#' . sha256_hex($more), 'longer keys are digested');
lands('/sha',   'alice', 's:sha/60#' . sha256_hex('alice'), 'sha256');
lands('/sha',   $more,  's:sha/60#' . sha256_hex($more), 'sha256 of a long key');
lands('/hmac',  'alice', 'h:hmac/60#' . hmac_sha256_hex('alice', $secret),
    'hmac with the secret of the file');
lands('/hmac',  $more,  'h:hmac/60#' . hmac_sha256_hex($more, $secret), 'hmac of a long key');
lands('/addr',  '',     "b:addr/86400:\x7f\0\0\x01", 'an address in binary');
wait_until { ($redis->hash("b:addr/86400:\x7f\0\0\x01")->{used} // 0) == 1 } what => 'the charge';
is limits($nginx->get('/addr'))->{used}, 2, 'that is found again';

done;

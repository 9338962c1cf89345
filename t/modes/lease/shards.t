# Each key's tokens come from its own shard and go back there, also where the key is digested or as long as it can be.
# While a shard is down its keys spend what is at hand, then rate_limit_on_error decides; other keys go on.

use RateLimit::Test;
use Digest::SHA qw(sha256_hex hmac_sha256_hex);

my $shards  = RateLimit::Shards->start(3);
my @longest = ('p' x 64, 'n' x 32, 'k' x 128);
my $nginx   = RateLimit::Nginx->start(
    workers => 2,
    http    => $shards->block('main', 'check_timeout 2s; connect_timeout 2s; charge_timeout 2s;')
        . $shards->block('sha', timeouts('9s') . ' key_digest sha256; prefix s:;')
        . $shards->block('hmac', timeouts('9s') . ' key_digest hmac:%%DIR%%/html/secret; prefix h:;')
        . $shards->block('long', timeouts('9s') . " prefix $longest[0];") . '
        rate_limit_mode lease; rate_limit_lease 10; rate_limit_store main; rate_limit_key $http_x_key;
        add_header X-Outcome "$rate_limit_status $rate_limit_shard" always;',
    server => 'location / { rate_limit 1000r/h name=n; }
        location /deny { rate_limit 1000r/h name=n; rate_limit_on_error deny; }
        location /sha { rate_limit 1000r/h name=n store=sha; }
        location /hmac { rate_limit 1000r/h name=n store=hmac; }
        location /long { rate_limit 1000r/366d name=' . $longest[1] . ' window=clock store=long; }
        location /soon { rate_limit 1000r/10s name=soon; }',
    files => {secret => "pepper\n"},
);

sub ask ($uri, $key) { return $nginx->get($uri, 'X-Key' => $key)->header('X-Outcome') }

# Returns what each shard has of a key; undef where it has none.
sub stored ($key) { return map { $_->hash($key)->{used} } $shards->primaries }

my %shard;
for my $key (my @keys = map { "k$_" } 1 .. 24) {
    my %seen = map { ask('/x', $key) => 1 } 1 .. 3;
    ($shard{$key}) = keys(%seen) == 1 ? (keys %seen)[0] =~ /^PASSED (\w)$/ : 'none';
}
my @all = sort keys %shard;
my %place = (a => 0, b => 1, c => 2);
is_deeply [grep { my @is = stored("rl:n/3600:$_"); my $own = delete $is[$place{$shard{$_}} // 9];
    ($own // 0) != 10 || grep { defined } @is } @all], [], 'the tokens of each key are of its shard';
is_deeply [sort keys %{{map { $_ => 1 } values %shard}}], [qw(a b c)], 'and all shards have some';

my $over = 'x' x 200;
my @odd = (
    ['/sha', 'k', 's:n/3600#' . sha256_hex('k')],
    ['/hmac', 'k', 'h:n/3600#' . hmac_sha256_hex('k', 'pepper')],
    ['/x', $over, 'rl:n/3600#' . sha256_hex($over)],
    ['/long', $longest[2], "$longest[0]$longest[1]/31622400c:$longest[2]"],
);
for my $case (@odd) {
    my ($uri, $key, $redis_key) = @$case;
    like ask($uri, $key), qr/^PASSED/, "$uri: a request passes" for 1 .. 2;
    is_deeply [grep { defined } stored($redis_key)], [10], 'and a batch is taken, in one shard';
}

my ($down, $up) = map { my $name = $_; [grep { $shard{$_} eq $name } @all] } qw(b a);
for my $key ($down->[0], $up->[0]) {
    is ask('/soon', $key) =~ s/ .*//r, 'PASSED', "soon: $key passes";
}
# Tokens that nobody spends for five seconds go back, and others are taken: so many are at hand now.
like ask('/x', $_), qr/^PASSED/, "$_: another request" for @$down[0, 1];
my @left = map { $shards->used("rl:n/3600:$_") - 4 } @$down[0, 1];
$shards->primary(1)->kill;
wait_until { $shards->primary(0)->used($up->[0], 'soon/10') == 1 } what => 'tokens of another shard';
is_deeply [map { ask('/x', $down->[0]) } 1 .. $left[0] + 2], [('PASSED b') x $left[0], ('ERROR_ALLOWED b') x 2],
    'a shard is down: its tokens are spent, then errors allow';
is_deeply [map { ask('/deny', $down->[1]) } 1 .. $left[1] + 2], [('PASSED b') x $left[1], ('ERROR_DENIED b') x 2], 'or deny';
is_deeply [map { ask('/x', $up->[0]) } 1 .. 9], [('PASSED a') x 9], 'keys of other shards go on';
$shards->primary(1)->restart;
wait_until { ask('/deny', $down->[1]) eq 'PASSED b' } what => 'the shard to be back';

$nginx->stop;
my %spent = map { $_ => 3 } grep { $shard{$_} ne 'b' } @all;
$spent{$up->[0]} += 9;
is_deeply {map { $_ => (grep { defined } stored("rl:n/3600:$_"))[0] } keys %spent}, \%spent, 'each token went back to its shard';
is_deeply [map { grep { defined } stored($_->[2]) } @odd], [(2) x @odd], 'those of odd keys, too';

done;

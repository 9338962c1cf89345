# Answers that arrive together each go to their own command, in order; what is no answer goes to none.

use RateLimit::Test;

use constant LIMITS => 12;

my $reset = (time + 1800) . '000';
my $push  = ">2\r\n" . bulk('invalidate') . bulk('x');
my @answers;
my $redis = RateLimit::FakeRedis->start(handler => sub ($words, $conn) {
    return integer(500) if $words->[0] eq 'hincrby';
    return fallback($words) if $words->[0] ne 'hmget';
    my ($kind, $limit) = $words->[1] =~ m{limit-(\d+)/3600:(\w+)} ? ($2, $1) : die "of no limit: $words->[1]\n";
    push @answers, $kind eq 'odd' && $limit == 7 ? error('ERR not this one') : hmget($limit, $reset);
    return '' if @answers < LIMITS;
    my @all = splice @answers;
    return join $push, '', @all if $kind eq 'pushed';
    return join '', @all, $kind eq 'more' ? hmget(99, $reset) : ();
});
my $limits = join '', map { "rate_limit 1000r/h name=limit-$_ store=main;\n" } 1 .. LIMITS;
my $nginx  = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, 'check_timeout 5s;'),
    server => "rate_limit_key \$arg_k; rate_limit_headers ietf; rate_limit_exempt_status 200;\nlocation / {\n$limits}",
);

sub shown ($key) {
    my $list = $nginx->get("/x?k=$key")->header('RateLimit') // '';
    return join ' ', map { /"limit-(\d+)";r=(\d+)/ ? "$1:" . (1000 - $2) : $_ } split /, /, $list;
}
sub expected (@limits) { return join ' ', map { "$_:$_" } @limits }

my $all = expected(1 .. LIMITS);
is shown('first'),  $all, 'each limit has its own answer';
is shown('pushed'), $all, 'so it has where something else comes before each';
is shown('odd'), expected(grep { $_ != 7 } 1 .. LIMITS), 'an error is for one of them';
is $nginx->count_log(qr/is down/), 0, 'the connection stays';
is shown('more'), $all, 'one answer too many';
is shown('again'), $all, 'is not the answer to the next command';
is scalar($redis->commands('ping')), 2, 'for that goes over another connection';
is $nginx->count_log(qr/exited/), 0, 'no worker died';

done;

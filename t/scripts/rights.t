# A user who lacks one of the rights that a script needs: what is refused has changed nothing, so that sending it again counts nothing twice. Each script, in each state
# that its key may be in, without each of the commands that it calls there, and without each two of them.

use RateLimit::Test;

my $redis  = RateLimit::Redis->start(acl => ['user nginx on >secret ~* +@all']);
my $nginx  = bless {%$redis, connection => undef}, ref $redis;
my %digest = map { $_ => $redis->script(project_file("lua/$_.lua")) } qw(charge reserve repair refund bucket hold overrides penalty);
$digest{bucket_penalty} = $digest{penalty};
$nginx->cmd('AUTH', 'nginx', 'secret');

my $now    = 1_700_000_000_123;
my $reset  = $now + 3_600_000;
my @times  = ($now, $reset, $reset + 60_000);
my @clock  = (int($now / 1000), $now % 1000 * 1000);
my @token  = (100_000_000, 2_000_000_000);
my @none   = ('') x 3;
my @mark   = (1 << 30, 7, $now * 1000);
my $number = $now * 1000;
my $late   = $number - 700_000_000;
my @many   = map { ("g:$_", "$late 1 $reset", "r:$_", $late) } 1 .. 143;
my @slots  = map { ("m$_", '1 ' . ($now + ($_ < 3 ? -1 : 20_000)) . ' 5') } 1 .. 9;
my $sum    = '9:' . ($now + 20_000) . ':' . ($now + 20_000);
my $bucket = sub ($ahead) { pack 'Q>3', (1 << 63) + $now * 1_000_000 + $ahead, $token[1], 7 };

# States of the key: commands that lead there.
my %window = (
    none     => [],
    open     => [['HSET', 'k', used => 5, reset => $reset]],
    closed   => [['HSET', 'k', used => 5, reset => $now - 1, 'g:me' => '1 2 3', 'r:me' => 4]],
    adopted  => [['HINCRBY', 'k', 'used', 4]],
    other    => [['HSET', 'k', other => 1]],
    negative => [['HSET', 'k', used => -100, reset => $reset]],
    word     => [['HSET', 'k', used => 'many', reset => $reset]],
    great    => [['HSET', 'k', used => '999999999999999', reset => $reset]],
    noted    => [['HSET', 'k', 'g:me' => "$number 0 0", used => 2]],
    many     => [['HSET', 'k', used => 5, reset => $reset, @many]],
    out      => [['HSET', 'k', used => 5, reset => $now - 1, until => $now + 9_000_000]],
);
my %bucket = (none => [], full => [['SET', 'k', $bucket->(-1)]], part => [['SET', 'k', $bucket->(1_000_000_000)]], empty => [['SET', 'k', $bucket->($token[1])]],
    beyond => [['SET', 'k', $bucket->(3 * $token[1])]], out => [['SET', 'k', $bucket->(1_000_000_000) . pack 'Q>', $now + 9_000_000]], word => [['SET', 'k', 'word']]);
my %slots = (none => [], mine => [['HSET', 'k', me => '2 ' . ($now + 9_000) . ' 5']], others => [['HSET', 'k', @slots[0 .. 7]]],
    many => [['HSET', 'k', me => '2 ' . ($now + 9_000) . ' 5', @slots, '+', $sum]], lapsed => [['HSET', 'k', @slots]]);
my %overrides = (none => [], some => [['HSET', 'k', version => 7, 'a/' => '1 off', 'a/:k' => '1 ban']], word => [['HSET', 'k', version => 'word', 'a/' => '1 off']],
    lost => [['HSET', 'k', 'a/' => '1 off']]);
my %calls = (
    charge    => [\%window, [3, @times], [3, @times, 9]],
    reserve   => [\%window, [10, 3, 1, @times], [10, 3, 1, @times, 1, 2, $reset], [10, 3, 1, @times, 1, 0, 0, 'me', $number + 1], [10, 0, 0, @times, 1, 0, 0, 'me', $number + 1],
        [10, 3, 1, @times, 1, 0, 0, 'me', $number], [10, 20, 20, @times]],
    repair    => [\%window, [@times]],
    refund    => [\%window, [3, $reset], [5, $reset], [5, $reset, 1], [3, $reset, '', 'me', $number], [5, $reset, '', 'me', $number]],
    bucket    => [\%bucket, [@token, 3, 3, 1, @none, @clock], [@token, 30, 0, 0, @none, @clock], [@token, 21, 21, 1, @none, @clock], [@token, 0, 0, 0, @none, @clock],
        [@token, -3, 0, 0, @mark, @clock]],
    hold      => [\%slots, ['me', 7, 20, 3, 1, 30_000, @clock], ['me', 7, 20, 0, 1, 30_000, @clock], ['me', 7, 20, 0, 0, 30_000, @clock], ['me', -1, 0, 0, 0, 30_000, @clock]],
    overrides => [\%overrides, [9, 9, '', 'a/:k', '1 allow'], [9, 9, '', 'b/', '1 ban', 'a/', '1 off', 'b/', '1'], [9, 9, '', 'a/:k', ''], [9, 9, '', 'a/', '', 'a/:k', '1 ban'],
        (map { [9, 9, "=$_", 'b/', '1 off', 'c/', '1 off'], [9, 9, "=$_", 'b/', '', 'c/', '1 off'] } '', 'word')],
    penalty         => [\%window, map { ['window', $_, $now] } 60_000, 0, -1],
    bucket_penalty  => [\%bucket, map { ['bucket', $_, 0, @clock] } 60_000, 0, -1],
);
my %held = (string => ['SET', 'k', '12'], list => ['RPUSH', 'k', 1], hash => ['HSET', 'k', 'foo', 1]);

sub begin (@commands) {
    $redis->pipeline(['DEL', 'k'], @commands, @commands ? ['PEXPIREAT', 'k', 9_000_000_000_000] : ());
    return;
}

# The bytes, and whether the expiry is the one that begin() has set, which lasts longer than any that a script sets.
sub state () {
    my ($bytes, $expiry) = $redis->pipeline(['DUMP', 'k'], ['PTTL', 'k']);
    return ($bytes // 'none') . ($expiry > 1e12 ? 'as it was' : $expiry < 0 ? $expiry : 'another');
}

# Words of an answer; one more says that another type has given way.
my %words = (bucket => 7, charge => 2, hold => 3, reserve => 3);

my (%refused, @changed, @other, @unstored, @kept);
for my $script (sort keys %calls) {
    my ($states, @arguments) = @{$calls{$script}};
    my %others = $script eq 'overrides' ? () : map { ("another's $_" => [$held{$_}]) } $script =~ /^bucket/ ? 'hash' : qw(string list);
    my %begins = (%$states, %others);
    for my $state (sort keys %begins) {
        for my $call (@arguments) {
            my @command = ('EVALSHA', $digest{$script}, 1, 'k', @$call);
            begin @{$begins{$state}};
            $redis->forget_calls;
            my $answer = $nginx->ask(@command);
            my @called = grep { !/^(?:evalsha|config|info)/ } map { /^cmdstat_([\w|]+)$/ ? $1 : () } sort keys %{$redis->info('commandstats')};
            my @rights = map { my $one = $_; [$one], map { [$one, $_] } grep { $_ gt $one } @called } @called;
            # The undoing of a new window is asked for only where another right is lacking.
            push @rights, ['pexpire', 'hdel'] if grep { $_ eq 'pexpire' } @called;
            for my $lacks (@rights) {
                begin @{$begins{$state}};
                my $before = state();
                $redis->cmd('ACL', 'SETUSER', 'nginx', map { "-$_" } @$lacks);
                my $answer = $nginx->ask(@command);
                $redis->cmd('ACL', 'SETUSER', 'nginx', map { "+$_" } @$lacks);
                my $case = "$script @$call, $state, without @$lacks: $answer";
                # Another's value may be gone: it was to give way.
                my $gone = $state =~ /another/ && !$redis->cmd('EXISTS', 'k');
                push @kept, $case if ref $answer eq 'ARRAY' && $words{$script} && @$answer > $words{$script} && state() eq $before;
                next if ref $answer eq 'ARRAY';
                if ($answer =~ /NOPERM|ACL failure in script|The user executing the script|^WRONGTYPE/) {
                    $refused{$script}{$_}++ for @$lacks;
                    push @changed, $case if state() ne $before && !$gone;
                } else {
                    push @other, $case;
                    push @unstored, $case if state() eq $before;
                }
            }
        }
    }
}
is_deeply \@changed, [], 'what is refused has changed nothing';
is_deeply [grep { !/without (?:pexpire hdel|hdel pexpire): .*stored without an expiry/ } @other], [], 'what is neither refused nor answered is stored';
is_deeply \@unstored, [], '... indeed';
cmp_ok scalar @other, '>', 0, '... as is what may not be taken back';
is_deeply \@kept, [], 'no value of another type is there that a script says has given way';
is_deeply {map { ($_ => join ' ', sort keys %{$refused{$_}}) } keys %refused}, {
    bucket => 'del get pttl set', bucket_penalty => 'get hdel pexpire pttl set', penalty => 'hdel hget hset pexpire pttl', charge => 'del hdel hget hincrby hset pexpire', hold => 'del hdel hgetall hlen hmget hset pexpire', overrides => 'del hdel hgetall hset',
    refund => 'del hdel hgetall hincrby hlen hmget hset', repair => 'hdel hmget hset pexpire pttl', reserve => 'del hdel hgetall hincrby hlen hmget hset pexpire',
}, 'each right that a script needs has been lacked';
done;

# The demo that `make run` starts: five requests a minute pass, with Redis, sentinels, a cluster, a far primary, two regions, language models, and without any; a signal ends all of it.
# What it prints does what it says, and leaves nothing where it is typed.

use RateLimit::Test;

my $module = RateLimit::Nginx::module() // plan skip_all => 'it needs the module';

# What a printed line answers that is typed into a shell in an empty folder.
my $typed_in = test_folder() . '/typed';
mkdir $typed_in or die $!;
sub type ($output, $pattern) {
    my ($line) = grep { $_ =~ $pattern } read_text($output) =~ /^    (.+)$/mg;
    return fail("$pattern is printed") if !defined $line;
    return scalar qx{cd $typed_in && bash -c '@{[$line =~ s/'/'\\\''/gr]}' 2>&1};
}

sub role_at ($port) { return $port && qx{redis-cli -p $port role 2>&1} =~ /^(\w+)/ ? $1 : '' }

# The port that serves a user, as the printed command finds it.
sub served_by ($output, @user) {
    my ($primary) = read_text($output) =~ m{(/\S+/primary)\b};
    return qx{$primary @user 2>/dev/null} =~ s/\s+//gr;
}

# A planned failover as is printed, to its end: a former primary that the new one has not served yet has nothing that the others would let it go
# on with.
sub fails_over ($output, $pattern, @user) {
    my $before = served_by($output, @user);
    like type($output, $pattern), qr/^OK/, 'a planned failover';
    return wait_until {
        my $port = served_by($output, @user);
        $port ne $before && role_at($port) eq 'master' && qx{redis-cli -p $port info replication} =~ /state=online/
    } timeout => 30, what => 'a failover to end';
}

# A primary that is stopped as is printed, and what is printed to start it again.
sub breaks ($output, @user) {
    my $port = served_by($output, @user);
    type($output, qr/shutdown nosave now/);
    isnt role_at($port), 'master', 'the printed line stops it';
    wait_until { my $other = served_by($output, @user); $other ne $port && role_at($other) eq 'master' } timeout => 30, what => 'another primary';
    is type($output, qr{/again$}), "started $port again\n", 'a printed line starts it again';
    wait_until { role_at($port) eq 'slave' } what => 'it to follow the other';
    return $port;
}

my %printed = (
    redis    => sub ($output) { is scalar(() = type($output, qr/--scan/) =~ /^rl:demo\/60:127\.0\.0\.1\|$/mg), 1, 'Redis holds the window of the address' },
    sentinel => sub ($output) {
        type($output, qr/ failover; until /);
        fails_over($output, qr/^redis-cli .* sentinel failover/);
        # One that had not heard of it would not agree that the new primary is down.
        my @sentinels = read_text($output) =~ /sentinels on (\d+), (\d+) and (\d+)/;
        wait_until {
            my %named = map {; scalar(qx{redis-cli -p $_ sentinel get-master-addr-by-name demo}) => 1 } @sentinels;
            1 == keys %named && !grep { m{failover_in_progress} } map { scalar qx{redis-cli -p $_ sentinel master demo} } @sentinels
        } what => 'all sentinels to know';
        return breaks($output);
    },
    cluster => sub ($output) {
        fails_over($output, qr/cluster failover/, 'mona');
        return breaks($output, 'mona');
    },
    far => sub ($output) {
        my ($http)    = read_text($output) =~ m{nginx listens on 127\.0\.0\.1:(\d+)};
        my ($primary, $away) = read_text($output) =~ /a primary on (\d+), for nginx on (\d+)/;
        my $metrics = sub () { return RateLimit::HTTP->new(port => $http)->get('/limits/metrics')->body };
        my $used = sub ($user) { return qx{redis-cli -p $primary hget 'rl:demo/60:127.0.0.1|$user' used} =~ s/\s+//gr };
        my $ask  = sub ($user) { return limits(RateLimit::HTTP->new(port => $http)->get("/?user=$user"))->{used} };
        like type($output, qr/^for path in/), qr/^lease\n(?:200 .* s\n){4}/m, 'the modes side by side';
        wait_until { (() = type($output, qr/answer_seconds/) =~ /^\S+node_answer_seconds\S+ [\d.e-]+$/mg) == 3 } what => 'what each server takes to answer';
        type($output, qr/^echo cut /);
        wait_until { $metrics->() =~ /node_up\{[^}]*:$away"\} 0$/m } what => 'the primary to be cut off';
        is_deeply [map { $ask->('cut') } 1 .. 3], [1 .. 3], 'cut off from the primary it counts on';
        is $used->('cut'), '', 'which has none of it';
        type($output, qr/^echo back /);
        wait_until { $used->('cut') eq 3 } what => 'the charges to be sent';
        type($output, qr/^echo 150 /);
        my ($near) = read_text($output) =~ /a near replica on (\d+)/;
        type($output, qr/shutdown nosave now/);
        is $ask->('far'), 5, 'the far replica answers where the near one is stopped';
        is type($output, qr{/again$}), "started $near again\n", 'a printed line starts that again';
        return $near;
    },
    regions => sub ($output) {
        my ($near, $there) = read_text($output) =~ /a replica of us on (\d+).*a replica of eu on (\d+)/s;
        like type($output, qr{/both ann$}), qr/^eu 200 1\neu 200 2\nus 200 3\nus 200 4$/m, 'each region adds what the other one has charged';
        is type($output, qr/hget .*ann/), "2\n2\n", 'each has charged its own';
        like type($output, qr{/limits/key$}), qr/"regions":\[.*"eu".*"us"/, 'a look-up tells of both';
        type($output, qr/^echo cut /);
        is type($output, qr{/both bob 4$}), join('', map { my $region = $_; map {"$region 200 $_\n"} 1 .. 4 } qw(eu us)), 'cut, each goes on';
        type($output, qr/^echo back /);
        for my $replica ($near, $there) {
            wait_until { qx{redis-cli -p $replica hget 'rl:demo/86400c:127.0.0.1|bob' used} =~ /4/ } what => 'it to hear of the other one';
        }
        is type($output, qr{/both bob$}), "eu 429 8\neu 429 8\nus 429 8\nus 429 8\n", 'healed, each knows of all';
        is type($output, qr{/both dan 1;}), join('', map {"$_\n"} 'eu 200 1', 'us 200 2', 'eu 200 3', 'us 200 4'), 'one after the other';
        type($output, qr/shutdown nosave now/);
        is type($output, qr{^\S+/both dan 1$}), "eu 200 4\nus 429 5\n", 'what was last read counts';
        like type($output, qr/region_remembered_total/), qr/region="us"\} [1-9]/, '... and a metric counts it';
        is type($output, qr{/again$}), "started $near again\n", 'a printed line starts the replica again';
        return $near;
    },
    models => sub ($output) {
        like type($output, qr{/ask ann 50$}), qr/"total_tokens":52\}.*\n200 in /, 'an answer';
        like type($output, qr{/ask ann 50 true$}), qr/^data: \[DONE\]\n\n\n200 in /m, 'and a stream';
        is_deeply [sort map { /^(\d+)/ } split /\n/, type($output, qr/^for i in .*ask bob/)], [(200) x 4, (429) x 2], 'of six at once four pass';
        type($output, qr{/ask cid });
        wait_until { type($output, qr/reserved\|settled/) =~ /reserved_total\S+ (\d+)\n.*settled_total\S+ (\d+)/ && $1 > $2 && $2 > 900 }
            what => 'who has left to keep the reservation';
        return;
    },
);

sub runs ($store, $signal) {
    my $port   = free_port();
    my $output = test_folder() . "/demo-$store";
    my $demo   = RateLimit::Process->start(
        command => [project_path('tools/run')], output => $output,
        env     => {PORT => $port, STORE => $store, MODULE => $module, NGINX_BINARY => RateLimit::Nginx::binary()},
    );
    wait_until { read_text($output) =~ /Ctrl-C/ || !$demo->alive } timeout => 30, what => 'the demo';
    like read_text($output), qr/nginx listens on 127\.0\.0\.1:$port and allows 5 requests a /, "$store: it says where";
    my @responses = map { RateLimit::HTTP->new(port => $port)->get('/') } 1 .. 6;
    is_deeply [map { $_->status } @responses], [(200) x 5, 429], 'five pass';
    # Of the rejected one's the fifth may be running still: it is charged after its answer.
    is_deeply [map { limits($_)->{used} } @responses[0 .. 4]], [1 .. 5], 'and are counted';
    is limits(RateLimit::HTTP->new(port => $port)->get('/?user=mona'))->{used}, 1, 'a user has a window of its own';
    my ($console) = read_text($output) =~ m{^    http://127\.0\.0\.1:$port(/limits/)$}m;
    my $page = RateLimit::HTTP->new(port => $port)->get($console // '/none');
    like $page->body, qr{<h1>.*<th scope="row">demo</th>}s, 'and the console tells of it';
    my $again = $printed{$store} && $printed{$store}->($output);
    $demo->signal($signal);
    ok $demo->wait(10), "$signal ends it";
    ok !eval { RateLimit::HTTP->new(port => $port) }, 'and nginx';
    wait_until { role_at($again) eq 'Could' } what => 'what was started again to end' if $store =~ /sentinel|cluster|far|regions/;
    is_deeply [glob "$typed_in/*"], [], 'nothing is left where the lines were typed';
    return unlike read_text($output), qr/\[(?:alert|crit|emerg)\]|Sanitizer|runtime error/, 'without complaint';
}

runs('local', 'INT');
runs('redis', 'TERM');
runs('sentinel', 'TERM');
runs('cluster', 'TERM');
runs('far', 'TERM');
runs('regions', 'TERM');
runs('models', 'TERM');

done;

# A test leaves nothing in the system's temporary folder, however it ends: done, dead, or ended by a signal.

use RateLimit::Test;

my $temporary = test_folder() . '/tmp';
mkdir $temporary or die "$temporary: $!";

# What each of them starts, and how it ends.
my $begin = <<'PERL';
use RateLimit::Test;
RateLimit::Certificates->authority('ours')->issue('server', 'DNS:redis.test');
my $redis = RateLimit::Redis->start(own_time => 1, unixsocket => 1);
my $fake  = RateLimit::FakeRedis->start(handler => sub ($words, $conn) { return fallback($words) });
my $nginx = RateLimit::Nginx->start(module => undef, clock => 1, workers => 2, server => 'location / { return 200 "ok"; }');
is $nginx->get('/')->status, 200;
PERL
my %ends = (
    done => ['done;', 0],
    dead => ['die "as it should\n";', 255],
    told => ['kill TERM => $$; let_pass(60);', 130],
);

for my $how (sort keys %ends) {
    my ($end, $status) = @{$ends{$how}};
    my $script = write_text(test_folder() . "/$how.pl", $begin . $end);
    my $output = test_folder() . "/$how.out";
    my $test = RateLimit::Process->start(name => $how, output => $output, env => {TMPDIR => $temporary, TEST_KEEP => undef},
        command => [$^X, '-I', project_path('t/lib'), $script]);
    $test->wait(60) or die "$how: it does not end";
    is $test->status >> 8, $status, "$how: it ends so" or diag read_text($output);
    like read_text($output), qr/^ok 1/m, "$how: after it began";
    opendir my $folder, $temporary or die $!;
    is_deeply [grep { !/^\.\.?$/ } readdir $folder], [], "$how: nothing is left";
}

done;

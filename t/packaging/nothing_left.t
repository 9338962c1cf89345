# A test leaves nothing in the system's temporary folder or its shared memory, however it ends: done, dead, or ended by a
# signal. Nor does a script that uses the test library.

use RateLimit::Test;

my $temporary = test_folder() . '/tmp';
mkdir $temporary or die "$temporary: $!";

# Each of the programs starts these servers; %ends says how it ends.
my $begin = <<'PERL';
RateLimit::Certificates->authority('ours')->issue('server', 'DNS:redis.test');
my $redis = RateLimit::Redis->start(own_time => 1, unixsocket => 1);
my $fake  = RateLimit::FakeRedis->start(handler => sub { return RateLimit::FakeRedis::fallback($_[0]) });
my $nginx = RateLimit::Nginx->start(module => undef, clock => 1, workers => 2, server => 'location / { return 200 "ok"; }');
print '# nginx answers ', $nginx->get('/')->status, ' by process ', $nginx->pid, "\n";
PERL
my $test   = 'use RateLimit::Test;';
my $script = join ' ', map { "use RateLimit::$_;" } qw(Certificates FakeRedis Nginx Redis);
my %ends   = (
    done   => [$test,   'pass; done;', 0],
    dead   => [$test,   'die "as it should\n";', 255],
    told   => [$test,   'kill TERM => $$; let_pass(60);', 130],
    script => [$script, '', 0],
);

for my $how (sort keys %ends) {
    my ($uses, $end, $status) = @{$ends{$how}};
    my $path   = write_text(test_folder() . "/$how.pl", "$uses\n$begin$end\n");
    my $output = test_folder() . "/$how.out";
    my $process = RateLimit::Process->start(name => $how, output => $output, env => {TMPDIR => $temporary, TEST_KEEP => undef},
        command => [$^X, '-I', project_path('t/lib'), $path]);
    $process->wait(60) or die "$how: it does not end";
    is $process->status >> 8, $status, "$how: it ends so" or diag read_text($output);
    my ($nginx) = read_text($output) =~ /^# nginx answers 200 by process (\d+)/m;
    ok($nginx, "$how: after it began") or next;
    opendir my $folder, $temporary or die $!;
    is_deeply [(grep { !/^\.\.?$/ } readdir $folder), glob "/dev/shm/*_$nginx"], [], "$how: nothing is left";
}

done;

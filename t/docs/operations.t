# docs/operations.md: the switch turns limits off, the access log tells what it promises, the commands for a fresh allowance name
# the right keys, and the words that it explains are those of the log.

use RateLimit::Test;

my $operations = project_file('docs/operations.md');
my $switch     = code($operations, 'switch');
my ($format, $log) = code($operations, 'log example') =~ /^(log_format .*?;\n)(access_log .*;\n)$/s;
$log =~ s{/var/log/nginx}{%%DIR%%} or fail('the path of the access log');
my $primary    = RateLimit::Redis->start;
my %options    = (
    http   => redis_block('main', $primary) . redis_block('hidden', $primary, 'key_digest sha256; database 1; ' . timeouts('9s'))
        . "rate_limit_key \$arg_key;\n$switch $format",
    server => "$log" . 'location / { rate_limit 1r/h name=core store=main; }
        location /bucket { alias %%DIR%%/html/x; rate_limit 1r/s burst=60 cost=60 name=smooth store=main; }
        location /hidden { alias %%DIR%%/html/x; rate_limit 1r/h name=core store=hidden; }',
);
my $nginx = RateLimit::Nginx->start(%options);

is $nginx->get('/?key=addr:203.0.113.7')->status, 200, 'a limit';
wait_until { $primary->hash('rl:core/3600:addr:203.0.113.7')->{used} } what => 'its charge';
is $nginx->get('/?key=addr:203.0.113.7')->status, 429, 'that rejects';
is $nginx->get('/hidden?key=token:abc')->status,  200, 'a limit with digests';
is $nginx->get('/hidden?key=token:abc')->status,  429, 'that rejects';
my @lines = split /\n/, wait_until { my $text = read_text($nginx->folder . '/limits.log'); $text =~ /(.*\n){4}/ && $text } what => 'the access log';
like $lines[0], qr/ 200 limit=core decision=PASSED used=1\/1 shard=a store_time=0\.\d{3} id=[0-9a-f]{16}$/, 'the access log: who passed';
my ($id) = $lines[1] =~ / 429 limit=core decision=REJECTED used=1\/1 shard=a store_time=0\.\d{3} id=([0-9a-f]{16})$/;
ok $id, 'and who was rejected';
like $nginx->error_log, qr/\[warn\].*rate limit "core" exceeded: 1 used of 1 in 3600 s, id $id/, 'with the id of the error log';

# The commands, run in the database of their store.
my ($host, $port) = split /:/, $primary->address;
my @commands = $operations =~ /^redis-cli -h 10\.0\.0\.1 (DEL .*)$/mg;
is scalar @commands, 3, 'a command for plain keys, one for buckets, and one for digests';
is $nginx->get('/bucket?key=addr:203.0.113.7')->status, $_, "a bucket: $_" for 200, 429;
my $emptied = time;
is qx{redis-cli -h $host -p $port -n @{[$commands[$_] =~ /sha256sum/ ? 1 : 0]} $commands[$_]}, "1\n", $commands[$_] for 0 .. $#commands;
wait_until { $nginx->get('/?key=addr:203.0.113.7')->status == 200 } what => 'the fresh allowance';
wait_until { $nginx->get('/bucket?key=addr:203.0.113.7')->status == 200 } what => 'the full bucket';
cmp_ok time - $emptied, '<', 59, '... sooner than by the clock';

$options{http} =~ s/default 0;/default 1;/ or fail('the switch has one character to change');
$nginx->reload(%options, wait_old => 1);
is_deeply [map { $nginx->get('/?key=addr:203.0.113.7')->status } 1 .. 3], [200, 200, 200], 'switched off, nothing is limited';
is_deeply limits($nginx->get('/?key=addr:203.0.113.7')), {}, 'nor said';

# The texts that the module can log; the pieces of long texts are put together.
my $words = join "\n", map { s/"\s*PRI\w+\s*"/u/gr =~ s/"\s+"//gr =~ s/\\"/"/gr } sources_with(qr/"/);
my ($table) = $operations =~ /^### What the log says\n\n(.*?)\n\n/ms;
for my $line (grep { /`/ } split /\n/, $table) {
    my ($cell) = $line =~ /^\| (.*?) \|/;
    for my $said ($cell =~ /`([^`]+)`/g) {
        my $pattern = join '.{1,8}', map { quotemeta } split /\b[A-Z]\b/, $said;
        like $words, qr/$pattern/, "$said is what the log can say";
    }
}

done;

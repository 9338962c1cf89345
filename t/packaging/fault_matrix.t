# tools/faults runs the tests that are rows of the fault matrix with each server, all or those that are asked for, and says in a table which
# have failed.

use RateLimit::Test;

my $folder = test_folder();
my $script = project_path('tools/faults');
mkdir "$folder/$_" or die $! for qw(t servers servers/redis-1.0 servers/valkey-2.0);
for my $server (qw(redis-1.0 valkey-2.0)) {
    write_text("$folder/servers/$server/redis-server", "#!/bin/sh\n");
    chmod 0755, "$folder/servers/$server/redis-server" or die $!;
}
my $passes = "print qq(1..1\\n); print \$ENV{REDIS_SERVER} =~ m{^/.*/servers/redis-1\\.0/redis-server\$} ? qq(ok 1\\n) : qq(not ok 1\\n);\n";
write_text("$folder/t/first.t",  "# What holds.\n# Rows 8a, 10 of the fault matrix.\n\n$passes");
write_text("$folder/t/second.t", "# Row 9 of the fault matrix: what holds.\n\nprint qq(1..1\\nok 1\\n);\n");
write_text("$folder/t/other.t",  "# No row.\n\nprint qq(1..1\\nnot ok 1\\n);\n");

sub faults (%env) {
    local @ENV{qw(ROWS SERVERS)} = ('', 'redis-1.0 valkey-2.0');
    local @ENV{keys %env} = values %env;
    my $status = system "cd '$folder' && '$script' servers logs >output 2>errors";
    return $status == 0, map { s/ \d+ s\b//gr =~ s/ +/ /gr } split /\n/, read_text("$folder/output");
}

is_deeply [faults()], ['', 'row test redis-1.0 valkey-2.0', '8a t/first.t ok FAIL', '9 t/second.t ok ok', '10 t/first.t ok FAIL'], 'all';
like read_text("$folder/errors"), qr{^failed: t/first\.t with valkey-2\.0, see \S+/logs/valkey-2\.0/first\.t\.log$}m, 'where to look';
like read_text("$folder/logs/valkey-2.0/first.t.log"), qr/Result: FAIL/, 'and what is there';
is_deeply [faults(ROWS => '9-11', SERVERS => 'redis-1.0')], [1, 'row test redis-1.0', '9 t/second.t ok', '10 t/first.t ok'], 'some';
is_deeply [faults(ROWS => '8a', SERVERS => 'redis-1.0')], [1, 'row test redis-1.0', '8a t/first.t ok'], 'one';
ok !(faults(ROWS => '11'))[0], 'no such row';
ok !(faults(SERVERS => 'redis-3.0'))[0], 'no such server';
like read_text("$folder/errors"), qr/no server redis-3\.0: make servers fetches them into servers/, 'which is said';

done;

package RateLimit::Certificates;

# An authority that signs certificates, made by openssl in the test's folder.
#
#   my $authority = RateLimit::Certificates->authority('ours');
#   $authority->file;                                  # its own certificate: what ssl_trusted_certificate names
#   my $server = $authority->issue('server', 'DNS:redis.test,IP:127.0.0.1');
#   $server->{certificate};  $server->{key};           # files
#   my $middle = $authority->authority_below('middle');            # an authority that $authority has signed
#   $middle->issue('leaf', 'DNS:x.test', chain => 1);  # the file of the certificate has the chain, too
#
# Options of issue: subject => '/CN=x' (default: no name there), from => 'YYYYMMDDHHMMSSZ', until => the same; password => TEXT:
# the key is encrypted.

use v5.36;

use RateLimit::Folder;

sub run (@command) {
    my $log = test_folder() . '/openssl.log';
    my $pid = fork // die $!;
    if ($pid == 0) {
        open STDOUT, '>>', $log or die $!;
        open STDERR, '>&', \*STDOUT or die $!;
        exec {$command[0]} @command or exit 127;
    }
    waitpid $pid, 0;
    die "@command:\n" . read_text($log) if $? != 0;
    return;
}

my $count = 0;

sub new_key ($path, $password = undef) {
    run('openssl', 'genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', $path,
        defined $password ? ('-aes256', '-pass', "pass:$password") : ());
    return $path;
}

sub authority ($class, $name) {
    my $self = bless {name => $name, path => test_folder() . "/authority-$name", chain => ''}, $class;
    new_key("$self->{path}.key");
    run('openssl', 'req', '-x509', '-new', '-key', "$self->{path}.key", '-subj', "/CN=$name", '-days', 30,
        '-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign', '-out', $self->file);
    return $self;
}

sub file ($self) { return "$self->{path}.pem" }

sub authority_below ($self, $name) {
    my $below = bless {name => $name, path => test_folder() . "/authority-$name"}, ref $self;
    new_key("$below->{path}.key");
    $self->sign("$below->{path}.key", $below->file, "/CN=$name",
        "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n");
    $below->{chain} = read_text($below->file);
    return $below;
}

sub sign ($self, $key, $to, $subject, $extensions, %opt) {
    my $base = test_folder() . '/request-' . ++$count;
    write_text("$base.ext", $extensions);
    run('openssl', 'req', '-new', '-key', $key, '-subj', $subject, '-out', "$base.csr",
        defined $opt{password} ? ('-passin', "pass:$opt{password}") : ());
    if ($opt{until}) {
        write_text("$base.conf", <<~"END");
            [ca]
            default_ca = ours
            [ours]
            database = $base.index
            serial = $base.serial
            new_certs_dir = @{[test_folder()]}
            default_md = sha256
            policy = any
            [any]
            commonName = optional
            END
        write_text("$base.index",  '');
        write_text("$base.serial", sprintf "%04x\n", 4096 + $count);
        run('openssl', 'ca', '-batch', '-notext', '-config', "$base.conf", '-cert', $self->file, '-keyfile', "$self->{path}.key",
            '-in', "$base.csr", '-out', $to, '-extfile', "$base.ext", '-startdate', $opt{from}, '-enddate', $opt{until});
    } else {
        run('openssl', 'x509', '-req', '-in', "$base.csr", '-CA', $self->file, '-CAkey', "$self->{path}.key",
            '-set_serial', 4096 + $count, '-days', 30, '-extfile', "$base.ext", '-out', $to);
    }
    return;
}

sub issue ($self, $name, $names, %opt) {
    my $path = test_folder() . "/certificate-$name";
    my %made = (certificate => "$path.pem", key => new_key("$path.key", $opt{password}));
    $self->sign($made{key}, $made{certificate}, $opt{subject} // '/', $names ? "subjectAltName=$names\n" : "\n", %opt);
    write_text($made{certificate}, read_text($made{certificate}) . $self->{chain}) if $opt{chain};
    return \%made;
}

1;

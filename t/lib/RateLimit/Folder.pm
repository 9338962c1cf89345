package RateLimit::Folder;

# The one temporary folder of a test or a script, gone at its end, when its processes are, unless TEST_KEEP is set; the project's
# folder; and small file access.
#
#   project_path('tools/run');     # the path of a file of the project
#   project_file('lua/charge.lua');    # its text; dies where there is none
#   gone_at_end('/dev/shm/x');         # a file elsewhere that a process of the test leaves if it is killed

use v5.36;

use Carp qw(croak);
use Exporter 'import';
use File::Path ();
use File::Spec;
use File::Temp ();

our @EXPORT = qw(test_folder gone_at_end project_path project_file read_text write_text);

my $project = File::Spec->rel2abs(__FILE__) =~ s{/t/lib/RateLimit/Folder\.pm$}{}r;
my ($folder, $owner, @elsewhere);

sub project_path ($name) { return "$project/$name" }
sub project_file ($name) { return read_text(project_path($name)) || croak "no $name" }

sub test_folder () {
    return $folder if $folder;
    $owner = $$;
    return $folder = File::Temp::tempdir('rate-limit-test-XXXXXX', TMPDIR => 1, CLEANUP => 0);
}

sub gone_at_end (@paths) { push @elsewhere, @paths; return }

sub read_text ($path) {
    open my $file, '<:raw', $path or return '';
    local $/;
    return <$file> // '';
}

# Replaces the file in one step: a reader sees the old text or the new.
sub write_text ($path, $text) {
    open my $file, '>:raw', "$path.new" or die "$path.new: $!";
    print {$file} $text;
    close $file or die "$path.new: $!";
    rename "$path.new", $path or die "$path: $!";
    return $path;
}

sub remove () {
    return if !$folder || $owner != $$;
    unlink splice @elsewhere;
    if ($ENV{TEST_KEEP}) {
        print STDERR "# kept: $folder\n";
    } else {
        File::Path::remove_tree($folder, {error => \my $ignored});
    }
    undef $folder;
    return;
}

END {
    local ($?, $!);
    remove();
}

1;

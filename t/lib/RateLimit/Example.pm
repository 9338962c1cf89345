package RateLimit::Example;

# A file of conf-examples, with what runs here in place of its servers.
#
#   my $nginx = start_example('behind-a-cdn', shards => $shards, app => $backend,
#       replace => {'198.51.100.0/24' => '127.0.0.1'});
#
#   my $nginx = start_text(TEXT, shards => ...);     # a text in its place, which "the example" then is
#
# 10.0.0.N:6379 are the Redis servers, in the order of $shards->all; 10.0.1.N:8080 is the application; replace is for the
# rest; more => TEXT: further servers. Dies when the file has an address left that is none of these.

use v5.36;

use Carp qw(croak);
use Exporter 'import';
use RateLimit::Folder;
use RateLimit::Nginx;

our @EXPORT = qw(start_example start_text);

sub put ($text, $old, $new) {
    $text =~ s/(?<![\w.])\Q$old\E(?![\w.])/$new/g or croak "$old is not in the example";
    return $text;
}

sub start_example ($name, %with) { return start_text(project_file("conf-examples/$name.conf"), %with) }

sub start_text ($text, %with) {
    # A busy machine may need longer for an answer than a site would wait.
    $text =~ s/^rate_limit_redis \w+ \{\K(?![^}]*_timeout)/ check_timeout 9s; connect_timeout 9s;/mg;
    my @redis = $with{shards} ? $with{shards}->all : ();
    for my $i (0 .. $#redis) {
        $text = put($text, sprintf('10.0.0.%d:6379', $i + 1), $redis[$i]->address);
    }
    $text = put($text, 'listen 80', 'listen 127.0.0.1:%%PORT%%');
    $text .= $with{more} // '';
    my %replace = %{$with{replace} // {}};
    $text = put($text, $_, $replace{$_}) for sort keys %replace;
    $text =~ s/\b10\.0\.1\.\d+:8080\b/$with{app}->address/ge;
    croak "an address is left: $1" if $text =~ /(\b10\.0\.\d+\.\d+:\d+)/;
    return RateLimit::Nginx->start(http => $text, %{$with{nginx} // {}});
}

1;

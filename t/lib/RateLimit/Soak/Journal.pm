package RateLimit::Soak::Journal;

# The logs of an nginx, and what they have told so far. They are read as they grow: each line once, and none is kept.
#
#   my $journal = RateLimit::Soak::Journal->new($nginx);       # an nginx of RateLimit::Traffic->nginx(key => '$arg_k')
#   $journal->read;                    # takes in what was logged since
#   $journal->admitted($uri);          # responses with status 200 to that URI, which has no leading slash
#   $journal->admitted_of($uri);       # such responses by key
#   $journal->requests;  $journal->errors;          # all; those that met an error
#   $journal->longest;                 # seconds: since this was called last;  longest_ever
#   $journal->doubt;                   # {charges, refunds, reservations}: what was sent and not answered
#   $journal->wrong;                   # lines that must not be: statuses, waits, things dropped. Since this was called last
#
# limits => {uri => 1}: URIs that may answer 429 and 529; patience => SECONDS that a request may take.

use v5.36;

use List::Util qw(max);

use constant {READ_AT_ONCE => 1_000_000};

sub new ($class, $nginx, %opt) {
    my $folder = $nginx->folder;
    return bless {
        %opt, admitted => {}, by_key => {}, requests => 0, errors => 0, longest => 0, longest_ever => 0, wrong => [],
        doubt => {charges => 0, refunds => 0, reservations => 0},
        access => {file => "$folder/traffic", at => 0}, errors_told => {file => "$folder/error.log", at => 0},
    }, $class;
}

# Whole lines only.
sub news ($log, $take) {
    open my $file, '<', $log->{file} or die "$log->{file}: $!";
    seek $file, $log->{at}, 0;
    my $text = '';
    while (read $file, $text, READ_AT_ONCE, length $text) {
        while ($text =~ /\G(.*)\n/gc) { $take->($1) }
        my $taken = pos $text // 0;
        $log->{at} += $taken;
        substr $text, 0, $taken, '';
    }
    return;
}

sub read ($self) {
    news($self->{access}, sub ($line) { $self->take_request($line) });
    news($self->{errors_told}, sub ($line) { $self->take_told($line) });
    return $self;
}

sub take_request ($self, $line) {
    my ($status, $outcome, $wait, $took, $uri, $key) = $line =~ m{^(\d{3}) (\S*) (\S*) (\S*) /(\S*) (\S*)$} or return;
    my $limited = $self->{limits}{$uri};
    my $fine = $limited ? "$status $outcome" =~ /^(?:200 PASSED|429 REJECTED|529 ERROR_DENIED)$/
        : $status == ($uri =~ /^free/ ? 404 : 200) && $outcome =~ /^(?:PASSED|ERROR_ALLOWED)$/;
    $self->{requests}++;
    $self->{errors}++ if $outcome =~ /ERROR/;
    if ($status == 200) {
        $self->{admitted}{$uri}++;
        $self->{by_key}{$uri}{$key}++ if $limited;
    }
    my $longest = max(grep { /\d/ } $wait, $took);
    $self->{longest} = max($self->{longest}, $longest);
    push @{$self->{wrong}}, $line if !$fine || $longest > $self->{patience};
    return;
}

sub take_told ($self, $line) {
    if ($line =~ /rate limit: (\d+) (charges|refunds|reservations) for .* were sent and not answered/) {
        $self->{doubt}{$2} += $1;
    } elsif ($line =~ /were dropped|nginx ends|as this worker ends|no room in|Sanitizer|runtime error:/) {
        push @{$self->{wrong}}, $line;
    }
    return;
}

sub admitted ($self, $uri)    { return $self->{admitted}{$uri} // 0 }
sub admitted_of ($self, $uri) { return $self->{by_key}{$uri} // {} }
sub requests ($self)          { return $self->{requests} }
sub errors ($self)            { return $self->{errors} }
sub doubt ($self)             { return $self->{doubt} }
sub longest_ever ($self)      { return max(@$self{qw(longest longest_ever)}) }

sub longest ($self) {
    my $longest = $self->{longest};
    $self->{longest_ever} = $self->longest_ever;
    $self->{longest} = 0;
    return $longest;
}

sub wrong ($self) { return splice @{$self->{wrong}} }

1;

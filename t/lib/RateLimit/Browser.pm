package RateLimit::Browser;

# A real browser without a window: Debian's chromium, driven by t/browser/driver.py, by selenium.
#
#   my $missing = RateLimit::Browser->missing;        # why there is none; undef: there is one
#   my $browser = RateLimit::Browser->start;          # ends with the test at the latest
#   $browser->view(360, 800, 'dark', 'print');        # its page's size, colours and medium; by default light, on a screen
#   $browser->open('http://127.0.0.1:8080/');         # waits until the page and all in it is there
#   $browser->value('document.title');                # the value of an expression in the page
#   $browser->in_frame('document.URL');               # the value of one in its first frame
#   $browser->text('h1');                             # the visible text of the first element of a CSS selector
#   $browser->type('input[name=key]', 'abc');         # into a field, in place of what is there
#   $browser->click('button');                        # a click by mouse
#   $browser->follow('a');                            # a click, then waits for the page that it leads to
#   $browser->press('Tab');                           # a key
#   $browser->requests;  $browser->complaints;        # addresses asked for since open(); texts of its console, and exceptions
#   $browser->accessible;                             # ({role, name}, ...): what a screen reader is told
#   $browser->screenshot(PATH, whole => 1);           # a PNG of the window, or of the whole page
#   $browser->stop;                                   # its connections too: an nginx that stops would wait for them

use v5.36;

use Carp qw(croak);
use File::Basename qw(dirname);
use JSON::PP ();
use POSIX ();
use RateLimit::Folder;
use RateLimit::Process;

my $json   = JSON::PP->new->utf8->allow_nonref;
my $driver = dirname(__FILE__) . '/../../browser/driver.py';
my @started;

sub in_path ($name) { return (grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0] }

# A python3 before Debian's has no packages of Debian.
sub python () {
    return (grep { -x && system("$_ -c 'import selenium' 2>/dev/null") == 0 } '/usr/bin/python3', map { "$_/python3" } split /:/, $ENV{PATH})[0];
}

sub missing ($class) {
    my @missing = grep { !in_path($_) } qw(chromium chromedriver);
    push @missing, "python's selenium" if !python();
    return @missing ? "there is no @{[join ', ', @missing]}: make deps GROUPS=browser" : undef;
}

sub start ($class) {
    pipe my $calls,   my $to      or die "pipe: $!";
    pipe my $from,    my $answers or die "pipe: $!";
    my @command = (python(), $driver, in_path('chromedriver'), in_path('chromium'), test_folder());
    my $process = RateLimit::Process->start(
        name => 'the browser', keep => [$calls, $answers], parent_death => 15,
        run  => sub {
            POSIX::dup2(fileno $calls,   0);
            POSIX::dup2(fileno $answers, 1);
            open STDERR, '>>', test_folder() . '/driver.log';
            @ENV{qw(HOME PYTHONDONTWRITEBYTECODE)} = (test_folder(), 1);
            exec @command;
        },
    );
    close $calls;
    close $answers;
    $to->autoflush(1);
    my $self = bless {process => $process, to => $to, from => $from}, $class;
    push @started, $self;
    $self->view(1280, 900);
    return $self;
}

# Dies of an error.
sub call ($self, @call) {
    print {$self->{to}} $json->encode(\@call), "\n";
    my $line = readline $self->{from};
    croak 'the browser has gone: ' . read_text(test_folder() . '/driver.log') if !defined $line;
    my $answer = $json->decode($line);
    croak $answer->{error} if $answer->{error};
    return $answer->{value};
}

sub view ($self, $width, $height, @look) { $self->call('view', $width + 0, $height + 0, @look); return $self }
sub open ($self, $url) { $self->call(open => $url); return $self }
sub click ($self, $selector)       { $self->call(click  => $selector); return $self }
sub follow ($self, $selector)      { $self->call(follow => $selector); return $self }
sub press ($self, $key)            { $self->call(press  => $key); return $self }
sub type ($self, $selector, $text) { $self->call(type   => $selector, $text); return $self }
sub value ($self, $expression)     { return $self->call(value    => $expression) }
sub in_frame ($self, $expression)  { return $self->call(in_frame => $expression) }
sub text ($self, $selector)        { return $self->value('document.querySelector(' . $json->encode($selector) . ')?.innerText') }
sub requests ($self)               { return @{$self->call('requests')} }
sub complaints ($self)             { return @{$self->call('complaints')} }
sub accessible ($self)             { return @{$self->call('accessible')} }
sub screenshot ($self, $path, %opt) { $self->call(screenshot => $path, $opt{whole} ? 1 : 0); return $self }

# The driver ends its browser when nobody can call it any more.
sub stop ($self) {
    return if !$self->{process}->alive;
    close $self->{to};
    $self->{process}->wait(10);
    return;
}

END {
    local $?;
    $_->stop for @started;
}

1;

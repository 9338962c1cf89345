package RateLimit::Browser;

# A real browser without a window, driven by the Chrome DevTools Protocol over two pipes. Of Debian's packages chromium-headless-shell, or chromium.
#
#   my $missing = RateLimit::Browser->missing;        # why there is none; undef: there is one
#   my $browser = RateLimit::Browser->start;
#   $browser->view(360, 800, scheme => 'dark', media => 'print');  # its window; by default light, on a screen
#   $browser->log_in('user', 'password');             # what it answers to auth_basic from now on
#   $browser->open('http://127.0.0.1:8080/');         # waits until the page and all in it is there
#   $browser->value('document.title');                # of an expression in the page
#   $browser->text('h1');                             # what is seen of the first element of a CSS selector
#   $browser->type('input[name=key]', 'abc');         # into a field, in place of what is there
#   $browser->click('button', leaves => 1);           # as a mouse does; leaves: waits for the page that this leads to
#   $browser->press('Tab');                           # a key
#   $browser->requests;  $browser->complaints;        # addresses asked for since open(); texts of its console, and exceptions
#   $browser->accessible;                             # ({role, name, value}, ...): what a screen reader is told
#   $browser->screenshot(PATH, whole => 1);           # a PNG of the window, or of the whole page
#   $browser->call(METHOD, {PARAMETERS});             # anything else; its result

use v5.36;

use Carp qw(croak);
use JSON::PP ();
use MIME::Base64 qw(decode_base64);
use POSIX ();
use RateLimit::Folder;
use RateLimit::Process;
use RateLimit::Wait;

my $json = JSON::PP->new->utf8->allow_nonref;

sub binary () {
    for my $name (qw(chromium-headless-shell chromium)) {
        for my $folder (split /:/, $ENV{PATH}) {
            return "$folder/$name" if -x "$folder/$name";
        }
    }
    return;
}

sub missing ($class) { return binary() ? undef : 'there is no browser: make deps GROUPS=browser' }

sub start ($class) {
    my $binary = binary() // croak $class->missing;
    pipe my $commands, my $to   or die "pipe: $!";
    pipe my $from,     my $told or die "pipe: $!";
    my $profile = test_folder() . '/browser';
    my @options = ('--headless', '--no-sandbox', '--no-zygote', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
        '--no-first-run', '--disable-component-update', '--disable-sync', '--hide-scrollbars', '--remote-debugging-pipe',
        '--host-resolver-rules=MAP localhost 127.0.0.1', "--user-data-dir=$profile");
    my $process = RateLimit::Process->start(
        name => 'the browser', keep => [$commands, $told],
        run  => sub {
            my ($read, $write) = map { POSIX::dup(fileno $_) + 0 } $commands, $told;
            ($read, $write) = (POSIX::dup2($read, 60), POSIX::dup2($write, 61));
            POSIX::dup2(60, 3);
            POSIX::dup2(61, 4);
            open STDERR, '>>', test_folder() . '/browser.log';
            $ENV{HOME} = $profile;
            exec $binary, @options, 'about:blank';
        },
    );
    close $commands;
    close $told;
    my $self = bless {process => $process, to => $to, from => $from, buffer => '', last => 0, events => []}, $class;
    my ($page) = grep { $_->{type} eq 'page' } @{$self->call('Target.getTargets')->{targetInfos}};
    $self->{session} = $self->call('Target.attachToTarget', {targetId => $page->{targetId}, flatten => $JSON::PP::true})->{sessionId};
    $self->call("$_.enable") for qw(Page Runtime Network Log Accessibility DOM);
    return $self->view(1280, 900);
}

sub view ($self, $width, $height, %opt) {
    $self->call('Emulation.setDeviceMetricsOverride', {width => $width, height => $height, deviceScaleFactor => 1, mobile => $JSON::PP::false});
    $self->call('Emulation.setEmulatedMedia',
        {media => $opt{media} // '', features => [{name => 'prefers-color-scheme', value => $opt{scheme} // 'light'}]});
    return $self;
}

sub log_in ($self, $user, $password) {
    $self->{credentials} = {response => 'ProvideCredentials', username => $user, password => $password};
    $self->call('Fetch.enable', {handleAuthRequests => $JSON::PP::true});
    return $self;
}

sub open ($self, $url) {
    $self->{events} = [];
    my $sent = $self->call('Page.navigate', {url => $url});
    croak "$url: $sent->{errorText}" if $sent->{errorText};
    return $self->wait_loaded;
}

# Until the page has been loaded of which an event tells, and nothing has been asked for a moment.
sub wait_loaded ($self) {
    wait_until { $self->pump; grep { $_->{method} eq 'Page.loadEventFired' } @{$self->{events}} } what => 'the page', timeout => 30;
    return $self;
}

sub value ($self, $expression) {
    my $got = $self->call('Runtime.evaluate', {expression => $expression, returnByValue => $JSON::PP::true});
    croak "$expression: $got->{exceptionDetails}{exception}{description}" if $got->{exceptionDetails};
    return $got->{result}{value};
}

sub text ($self, $selector) { return $self->value('document.querySelector(' . $json->encode($selector) . ')?.innerText') }

sub click ($self, $selector, %opt) {
    my $place = $self->value('(() => { const e = document.querySelector(' . $json->encode($selector) . ');
        if (!e) return null; e.scrollIntoView({block: "center"}); const b = e.getBoundingClientRect();
        return [b.x + b.width / 2, b.y + b.height / 2] })()') // croak "no $selector in the page";
    $self->{events} = [] if $opt{leaves};
    my %at = (x => $place->[0], y => $place->[1], button => 'left', clickCount => 1);
    $self->call('Input.dispatchMouseEvent', {type => $_, %at}) for qw(mousePressed mouseReleased);
    return $opt{leaves} ? $self->wait_loaded : $self;
}

sub type ($self, $selector, $text) {
    $self->click($selector);
    $self->value('document.activeElement.value = ""');
    $self->call('Input.insertText', {text => $text});
    return $self;
}

my %code = (Tab => 9, Enter => 13);

sub press ($self, $key) {
    my %key = (key => $key, code => $key, windowsVirtualKeyCode => $code{$key} // croak "the key $key");
    $self->call('Input.dispatchKeyEvent', {type => $_, %key}) for qw(rawKeyDown keyUp);
    return $self;
}

sub requests ($self) {
    $self->pump;
    return map { $_->{params}{request}{url} } grep { $_->{method} eq 'Network.requestWillBeSent' } @{$self->{events}};
}

sub complaints ($self) {
    $self->pump;
    my %text = (
        'Log.entryAdded'          => sub ($told) { $told->{entry}{text} },
        'Runtime.consoleAPICalled' => sub ($told) { join ' ', map { $_->{value} // '' } @{$told->{args}} },
        'Runtime.exceptionThrown'  => sub ($told) { $told->{exceptionDetails}{text} },
    );
    return map { $text{$_->{method}}->($_->{params}) } grep { $text{$_->{method}} } @{$self->{events}};
}

sub accessible ($self) {
    my @nodes = grep { !$_->{ignored} } @{$self->call('Accessibility.getFullAXTree')->{nodes}};
    return map { {role => $_->{role}{value}, name => $_->{name}{value} // '', value => $_->{value}{value}} } @nodes;
}

sub screenshot ($self, $path, %opt) {
    my $png = $self->call('Page.captureScreenshot', {format => 'png', captureBeyondViewport => $opt{whole} ? $JSON::PP::true : $JSON::PP::false});
    return write_text($path, decode_base64($png->{data}));
}

# Dies of an error. What the browser tells meanwhile is kept.
sub call ($self, $method, $parameters = {}) {
    my $id = $self->send($method, $parameters);
    wait_until { $self->pump; $self->{answers}{$id} } what => $method, timeout => 30;
    my $answer = delete $self->{answers}{$id};
    croak "$method: $answer->{error}{message}" if $answer->{error};
    return $answer->{result};
}

sub send ($self, $method, $parameters) {
    my $id      = ++$self->{last};
    my $message = {id => $id, method => $method, params => $parameters};
    $message->{sessionId} = $self->{session} if $self->{session};
    syswrite $self->{to}, $json->encode($message) . "\0" or croak "the browser has gone: see its log";
    return $id;
}

# Takes what the browser has told.
sub pump ($self) {
    vec(my $read = '', fileno $self->{from}, 1) = 1;
    while (select(my $ready = $read, undef, undef, 0) > 0) {
        sysread $self->{from}, $self->{buffer}, 1 << 16, length $self->{buffer} or croak 'the browser has gone: ' . read_text(test_folder() . '/browser.log');
    }
    while ($self->{buffer} =~ s/\A([^\0]*)\0//) {
        my $told = $json->decode($1);
        if ($told->{id}) { $self->{answers}{$told->{id}} = $told }
        else             { $self->take($told) }
    }
    return;
}

# Once it answers for auth_basic, the browser asks about each request.
sub take ($self, $told) {
    my ($method, $params) = @$told{qw(method params)};
    if ($method eq 'Fetch.authRequired') {
        $self->send('Fetch.continueWithAuth', {requestId => $params->{requestId}, authChallengeResponse => $self->{credentials}});
    } elsif ($method eq 'Fetch.requestPaused') {
        $self->send('Fetch.continueRequest', {requestId => $params->{requestId}});
    } else {
        push @{$self->{events}}, $told;
    }
    return;
}

1;

package RateLimit::Nginx;

# A real nginx with the module.
#
#   my $nginx = RateLimit::Nginx->start(server => 'location / { rate_limit 5r/s; ... }');   # one server block
#   my $nginx = RateLimit::Nginx->start(http => 'server { listen 127.0.0.1:%%PORT%%; ... }');
#   my $nginx = RateLimit::Nginx->start(conf => 'events {} http { %%HTTP%% ... }');
#
#   my $nginx = RateLimit::Nginx->with_limit('5r/h', redis_block('main', $redis), key => '$arg_k', more => TEXT);
#           # one location with that limit, counted in the store "main" by that key (default: $http_x_key), and more directives
#
# server and http may come together (http first); with reuseport => 1 each worker listens to the server itself. In every
# text %%PORT%% (%%PORT_1%%, %%PORT_2%% ...) are free ports and %%DIR%% is the folder; in conf, which is all but
# load_module, daemon, pid, error_log, user and env, %%HTTP%% are the http level defaults. Other options: main => TEXT, events => TEXT,
# workers => 1, log_level => 'info' (or 'debug'), access_log => TEXT (default off), env => {NAME => VALUE}
# (also kept by env directives), clock => 1 (see travel), speed => N (all of its time, timers' too, runs so much faster;
# what waits for a client waits for hours then), binary, module, files => {NAME => TEXT}: static files at the default root,
# where "/" and "/x" are always, and an empty one for each "location /NAME {"; "return" answers before limits are looked at.
# %%UP%% is the address of the backend that up => names.
#
#   $nginx->port;  $nginx->port(1);  $nginx->folder;  $nginx->pid;  $nginx->workers (pids);
#   $nginx->get('/x', HEADERS ...);  head, post('/x', BODY, HEADERS ...), request: a connection each,
#                                          # return after the log phase
#   $nginx->http;                          # a keep-alive RateLimit::HTTP
#   $nginx->begin('/x', HEADERS ...);      # such a one, with a GET sent and its response to come
#   $nginx->reach($backend, '/x', HEADERS ...);      # such a one, when the request is at that upstream
#   $nginx->parallel(connections => 400, requests => 4000, uri => '/x');       # see RateLimit::Load
#   $nginx->reload(server => NEW ...);     # waits for the new workers; wait_old => 1: old ones gone too
#   $nginx->stop;                          # graceful; dies when it takes longer than the timeout
#   $nginx->restart;                       # such a stop, and the same nginx again
#   $nginx->kill;                          # SIGKILL to master and workers
#   $nginx->kill_worker;                   # SIGKILL to one, waits for its replacement (or pass a pid)
#   $nginx->error_log;  $nginx->wait_log(qr/.../);  $nginx->count_log(qr/.../);
#                                          # without the notice that says the module's version at each start
# Of the console, which is at /limits/:
#   $nginx->told;                          # what it tells as JSON, decoded
#   $nginx->act(do => 'ban', key => 'a');  $nginx->act('do=ban&key=a', HEADERS ...);       # an operator posts that
#   $nginx->does(do => 'ban', key => 'a'); # the same, which is tested to be done: what the answer says, decoded
#   $nginx->waiting;  $nginx->waiting('main');       # windows that wait for the first shard of the first store, or of that one
#   $nginx->lines('ends');                 # lines of an access log of its own, "access_log %%DIR%%/ends FORMAT"
#   $nginx->wait_line('ends', '200 slow'); # until the log has that line
#   $nginx->abandon($http, 'ends', '499 slow');        # closes that client's connection, and waits for its line
#   $nginx->expect_log(qr/.../);           # allows [alert], [crit], [emerg] lines that match
#   $nginx->travel('+3600');               # with clock => 1: nginx's wall clock, by libfaketime
#   $nginx->stand_at($time);               # likewise: it stands still there, at seconds since the epoch, in milliseconds
#   my ($code, $output) = RateLimit::Nginx->test_config(http => TEXT);         # nginx -t, same options
#
# TEST_NGINX_BINARY and TEST_NGINX_MODULE say what runs; TEST_NGINX_MODULE=none loads nothing.

use v5.36;

use Carp qw(croak);
use File::Spec;
use IO::Socket::INET;
use List::Util ();
use POSIX qw(floor strftime);
use Test::More ();
use RateLimit::Folder;
use RateLimit::HTTP;
use RateLimit::Load ();
use RateLimit::Port;
use RateLimit::Process;
use RateLimit::Wait;

my ($faketime) = glob '/usr/lib/*/faketime/libfaketime.so.1';
my $patient = 'keepalive_timeout 100h; keepalive_time 100h; keepalive_requests 1000000; client_header_timeout 100h;';
my (@started, %build);

sub binary () {
    my @places = $ENV{TEST_NGINX_BINARY} // ((map { "$_/nginx" } File::Spec->path), '/usr/sbin/nginx');
    my ($found) = grep { -x } @places;
    return $found // Test::More::BAIL_OUT('no nginx: set TEST_NGINX_BINARY');
}

sub module () {
    my $module = $ENV{TEST_NGINX_MODULE} // 'build/ngx_http_rate_limit_module.so';
    return if $module eq 'none';
    $module = File::Spec->rel2abs($module, project_path('.'));
    -f $module or Test::More::BAIL_OUT("no module at $module: build it, or set TEST_NGINX_MODULE");
    return $module;
}

sub build_of ($binary) {
    return $build{$binary} //= do {
        my $text = qx{'$binary' -V 2>&1};
        Test::More::BAIL_OUT("$binary -V: $text") if $?;
        $text;
    };
}

sub create ($class, %opt) {
    my $self = bless {workers => 1, log_level => 'info', ports => [], expected => [], %opt}, $class;
    $self->{binary} //= binary();
    $self->{folder} = sprintf '%s/nginx-%d', test_folder(), scalar @started;
    mkdir $self->{folder} or croak "$self->{folder}: $!";
    mkdir "$self->{folder}/html" or croak $!;
    my %files = ('index.html' => "index\n", x => "x\n", %{$self->{files} // {}});
    write_text("$self->{folder}/html/$_", $files{$_}) for keys %files;
    push @started, $self;
    $self->{env} = {%{$self->{env} // {}}, $self->clock_env} if $self->{clock} || $self->{speed};
    $self->write_config;
    return $self;
}

sub start ($class, %opt) {
    return create($class, %opt)->launch;
}

sub launch ($self) {
    $self->{process} = RateLimit::Process->start(
        command => [$self->command], output => "$self->{folder}/output", name => 'nginx',
        env => $self->{env}, parent_death => 15);
    gone_at_end(map { "/dev/shm/${_}_$self->{process}{pid}" } qw(faketime_shm sem.faketime_sem)) if $self->{env}{LD_PRELOAD};
    wait_until {
        croak 'nginx ended: ' . $self->output if !$self->{process}->alive;
        $self->workers >= $self->expected_workers && !grep { !listens($_) } $self->listening
    } timeout => 15, what => 'nginx to listen on ' . join ', ', $self->listening;
    return $self;
}

sub with_limit ($class, $limit, $store, %opt) {
    my ($key, $more) = (delete $opt{key} // '$http_x_key', delete $opt{more} // '');
    my $server = "location / { rate_limit_key $key; rate_limit $limit store=main; $more }";
    return $class->start(%opt, http => $store, server => $server);
}

sub command ($self) { return ($self->{binary}, '-p', "$self->{folder}/", '-c', 'nginx.conf', '-e', 'error.log') }

sub test_config ($class, @opt) {
    my $self = create($class, @opt == 1 ? (http => $opt[0]) : @opt);
    $self->{tested} = 1;
    my $process = RateLimit::Process->start(
        command => [$self->command, '-t'], output => "$self->{folder}/output", name => 'nginx -t',
        env => $self->{env});
    $process->wait(15) or croak 'nginx -t does not end';
    return ($process->status >> 8 || $process->status, $self->output);
}

sub port ($self, $index = 0) {
    push @{$self->{ports}}, free_port() while @{$self->{ports}} <= $index;
    return $self->{ports}[$index];
}

sub fill_in ($self, $text) {
    $text =~ s/%%PORT(?:_(\d+))?%%/$self->port($1 \/\/ 0)/ge;
    $text =~ s/%%HTTP%%/$self->http_defaults/ge;
    $text =~ s{%%UP%%}{$self->{up}->address}ge;
    $text =~ s/%%DIR%%/$self->{folder}/g;
    return $text;
}

sub http_defaults ($self) {
    my $build = build_of($self->{binary});
    my @built = grep { $build !~ /--without-http_\Q$_\E_module/ } qw(proxy fastcgi uwsgi scgi);
    return join "\n    ", (map { "${_}_temp_path $self->{folder}/$_;" } 'client_body', @built),
        'access_log ' . ($self->{access_log} // 'off') . ';', 'default_type text/plain;', $self->{speed} ? $patient : ();
}

sub write_config ($self) {
    my $module = exists $self->{module} ? $self->{module} : module();
    my $text = join '', $module ? "load_module $module;\n" : '', $> == 0 ? "user root;\n" : '',
        "daemon off;\npid $self->{folder}/nginx.pid;\n",
        "error_log $self->{folder}/error.log $self->{log_level};\n",
        map { "env $_;\n" } sort keys %{$self->{env} // {}};
    if (defined $self->{conf}) {
        $text .= $self->{conf};
    } else {
        my $each   = $self->{reuseport} ? ' reuseport' : '';
        my $server = defined $self->{server} ? "server {\nlisten 127.0.0.1:%%PORT%%$each;\n$self->{server}\n}\n" : '';
        $text .= sprintf "worker_processes %d;\n%s\nevents {\n%s\n}\nhttp {\n    %%%%HTTP%%%%\n%s\n%s}\n",
            $self->{workers}, $self->{main} // '', $self->{events} // 'worker_connections 2048;',
            $self->{http} // '', $server;
    }
    $text = $self->fill_in($text);
    write_text("$self->{folder}/nginx.conf", $text);
    my @missing = grep { !-e } map { "$self->{folder}/html/$_" } $text =~ m{\blocation (?:= )?/([\w-]+) *\{}g;
    write_text($_, '') for @missing;
    return;
}

sub expected_workers ($self) {
    return $self->{workers} if !defined $self->{conf};
    return $self->{conf} =~ /^\s*worker_processes\s+(\d+)/m ? $1 : 1;
}

# TCP ports of the configuration's listen directives.
sub listening ($self) {
    my %port = map { $_ => 1 } read_text("$self->{folder}/nginx.conf") =~ /^\s*listen\s+(?:[\d.]+:)?(\d+)/mg;
    return sort keys %port;
}

sub listens ($port) { return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 1) ? 1 : 0 }

# Libfaketime reads the file anew for each call; timers go by the monotonic clock and stay real. A process that is killed leaves the
# memory that it shares with its children.
sub clock_env ($self) {
    $faketime or Test::More::BAIL_OUT('no libfaketime');
    return (LD_PRELOAD => $faketime, FAKETIME => "+0 x$self->{speed}", FAKETIME_NO_CACHE => 1) if $self->{speed};
    write_text("$self->{folder}/clock", "+0\n");
    return (
        LD_PRELOAD => $faketime, FAKETIME_TIMESTAMP_FILE => "$self->{folder}/clock",
        FAKETIME_NO_CACHE => 1, DONT_FAKE_MONOTONIC => 1, FAKETIME_DONT_RESET => 1,
    );
}

sub travel ($self, $offset) { write_text("$self->{folder}/clock", "$offset\n"); return $self }

sub stand_at ($self, $time) {
    my $millis = floor($time * 1000 + 0.5);
    return $self->travel(strftime('%Y-%m-%d %H:%M:%S', localtime $millis / 1000) . sprintf '.%03d', $millis % 1000);
}

sub folder ($self) { return $self->{folder} }
sub pid ($self)    { return $self->{process}->pid }
sub alive ($self)  { return $self->{process} && $self->{process}->alive }

sub http ($self, @opt)        { return RateLimit::HTTP->new(port => $self->port, @opt) }
sub get ($self, $uri, @headers)  { return $self->request('GET',  $uri, \@headers) }
sub head ($self, $uri, @headers) { return $self->request('HEAD', $uri, \@headers) }
sub post ($self, $uri, $body, @headers) { return $self->request('POST', $uri, \@headers, $body) }
sub begin ($self, $uri, @headers) { return $self->http->start_request('GET', $uri, \@headers) }
sub parallel ($self, %opt) { return RateLimit::Load::parallel(port => $self->port, %opt) }

# A response can be read before its log phase has run; when nginx closes the connection, it has.
sub request ($self, @words) {
    my $http     = $self->http;
    my $response = $http->request(@words);
    $http->finish;
    return $response;
}

sub reach ($self, $backend, @request) {
    my $before = $backend->requests;
    my $http   = $self->begin(@request);
    wait_until { $backend->requests > $before } what => "$request[0] at the upstream";
    return $http;
}

# A worker takes its title at the end of its initialisation.
sub titled ($self, $title) {
    return grep { read_text("/proc/$_/cmdline") =~ /^(?:nginx|angie): \Q$title\E(?: #\d+)?[\0 ]*$/ }
        RateLimit::Process::children_of($self->pid);
}

sub workers ($self)     { return $self->titled('worker process') }
sub old_workers ($self) { return $self->titled('worker process is shutting down') }

sub reload ($self, %new) {
    my %old = map { $_ => 1 } $self->workers;
    my ($wait_old, $timeout) = delete @new{qw(wait_old timeout)};
    my $seen = length $self->error_log;
    if (%new) {
        $self->{$_} = $new{$_} for keys %new;
        $self->write_config;
    }
    $self->{process}->signal('HUP');
    wait_until {
        my $log = substr $self->error_log, $seen;
        croak "reload failed: $1" if $log =~ /(\[emerg\].*)/;
        my @workers = $self->workers;
        @workers >= $self->expected_workers && !grep { $old{$_} } @workers
    } timeout => $timeout // 10, what => 'new workers';
    return $self if !$wait_old;
    wait_until { !grep { RateLimit::Process::state_of($_) =~ /[^Z]/ } keys %old }
        timeout => $timeout // 10, what => 'old workers to leave';
    return $self;
}

sub stop ($self, %opt) {
    return $self if !$self->alive;
    $self->{process}->signal('QUIT');
    my $seconds = $opt{timeout} // 15;
    return $self if $self->{process}->wait($seconds);
    $self->{process}->kill;
    croak 'nginx did not stop gracefully';
}

sub restart ($self) { return $self->stop->launch }
sub kill ($self)    { $self->{process}->kill; return $self }

sub kill_worker ($self, $pid = ($self->workers)[0]) {
    my $count = $self->workers;
    $self->expect_log(qr/worker process $pid exited on signal 9/);
    CORE::kill KILL => $pid;
    wait_until { my @workers = $self->workers; @workers >= $count && !grep { $_ == $pid } @workers }
        timeout => 10, what => 'a new worker';
    return $self;
}

sub error_log ($self) {
    my $text   = read_text("$self->{folder}/error.log");
    my $notice = 'rate limit: ngx_http_rate_limit_module ';
    # By index: a pattern that looks for it takes minutes in a debug log.
    for (my $at = 0; ($at = index $text, $notice, $at) >= 0;) {
        my $end = index $text, "\n", $at;
        $at = 1 + rindex $text, "\n", $at;
        substr $text, $at, ($end < 0 ? length $text : $end + 1) - $at, '';
    }
    return $text;
}

sub output ($self)    { return join '', read_text("$self->{folder}/output"), $self->error_log }

sub count_log ($self, $pattern) { return scalar grep { /$pattern/ } split /\n/, $self->error_log }

sub wait_log ($self, $pattern, %opt) {
    return wait_until { $self->error_log =~ $pattern } what => "$pattern in the error log", %opt;
}

sub told ($self) { return $self->get('/limits/json')->json }

sub act ($self, @posted) {
    my $form = @posted % 2 ? shift @posted : join '&', map { "$_->[0]=$_->[1]" } List::Util::pairs(splice @posted);
    return $self->post('/limits/key', $form, 'Content-Type' => 'application/x-www-form-urlencoded', @posted);
}

sub does ($self, @posted) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $response = $self->act(@posted);
    Test::More::is($response->status, 200, "operator: @posted") or Test::More::diag($response->body);
    return $response->json;
}

sub waiting ($self, $name = undef) {
    my ($store) = grep { !defined $name || $_->{name} eq $name } @{$self->told->{stores}};
    return $store->{shards}[0]{waiting}{windows};
}

sub lines ($self, $name) { return split /\n/, read_text("$self->{folder}/$name") }

sub wait_line ($self, $name, $line) {
    return wait_until { grep { $_ eq $line } $self->lines($name) } what => "\"$line\" in $name";
}

sub abandon ($self, $http, @line) { $http->abort; return $self->wait_line(@line) }

sub expect_log ($self, @patterns) { push @{$self->{expected}}, @patterns; return $self }

# Lines that no test should leave behind.
sub complaints ($self) {
    return if $self->{tested};
    my $bad = qr/\[(?:alert|emerg|crit)\]|exited on signal|Sanitizer|UndefinedBehavior|runtime error:/;
    my @bad = grep { /$bad/ } split /\n/, $self->output;
    my @expected = @{$self->{expected}};
    return grep { my $line = $_; !grep { $line =~ $_ } @expected } @bad;
}

sub started () { return @started }

1;

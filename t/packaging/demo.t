# The demo that `make run` starts: five requests a minute pass, with Redis, sentinels, a cluster, and without any; a signal ends all of it.

use RateLimit::Test;

my $module = RateLimit::Nginx::module() // plan skip_all => 'it needs the module';

sub runs ($store, $signal) {
    my $port   = free_port();
    my $output = test_folder() . "/demo-$store";
    my $demo   = RateLimit::Process->start(
        command => [project_path('tools/run')], output => $output,
        env     => {PORT => $port, STORE => $store, MODULE => $module, NGINX_BINARY => RateLimit::Nginx::binary()},
    );
    wait_until { read_text($output) =~ /Ctrl-C/ || !$demo->alive } timeout => 30, what => 'the demo';
    like read_text($output), qr/nginx listens on 127\.0\.0\.1:$port and allows 5 requests a minute/, "$store: it says where";
    my @responses = map { RateLimit::HTTP->new(port => $port)->get('/') } 1 .. 6;
    is_deeply [map { $_->status } @responses], [(200) x 5, 429], 'five pass';
    # Of the rejected one's the fifth may be running still: it is charged after its answer.
    is_deeply [map { limits($_)->{used} } @responses[0 .. 4]], [1 .. 5], 'and are counted';
    my ($console) = read_text($output) =~ m{^    http://127\.0\.0\.1:$port(/limits/)$}m;
    my $page = RateLimit::HTTP->new(port => $port)->get($console // '/none');
    like $page->body, qr{<h1>.*<th scope="row">demo</th>}s, 'and the console tells of it';
    $demo->signal($signal);
    ok $demo->wait(10), "$signal ends it";
    ok !eval { RateLimit::HTTP->new(port => $port) }, 'and nginx';
    return unlike read_text($output), qr/\[(?:alert|crit|emerg)\]|Sanitizer|runtime error/, 'without complaint';
}

runs('local', 'INT');
runs('redis', 'TERM');
runs('sentinel', 'TERM');
runs('cluster', 'TERM');

done;

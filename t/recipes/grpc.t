# docs/recipes.md, "gRPC": a rejection is RESOURCE_EXHAUSTED, a denial UNAVAILABLE, in one frame of headers that ends the stream.

use RateLimit::Test;

my $app = RateLimit::Nginx->start(
    http => 'server {
        listen 127.0.0.1:%%PORT%% http2;
        location / { default_type application/grpc; add_header grpc-status 0; return 200; }
    }',
);
my %replace = ('10.0.1.1:8080' => '127.0.0.1:' . $app->port, 'listen 80 http2' => 'listen 127.0.0.1:%%PORT%% http2');
sub start_recipe ($text) {
    $text =~ s/\Q$_\E/$replace{$_}/ or fail($_) for sort keys %replace;
    return RateLimit::Nginx->start(http => $text);
}

# The answer, and whether its headers end the stream.
sub call ($nginx) {
    my $url = 'http://127.0.0.1:' . $nginx->port . '/echo.Echo/Say';
    my $told = qx{nghttp -v -H ':method: POST' -H 'content-type: application/grpc' -H 'te: trailers' $url};
    my %header = $told =~ /recv \(stream_id=\d+\) ([^:\s]+|:status): (.*)$/mg;
    my ($flags) = $told =~ /recv HEADERS frame <length=\d+, flags=0x(\w+), stream_id=\d+>/;
    return {%header, alone => hex($flags) & 1};
}

my $recipe = code(project_file('docs/recipes.md'), 'recipe: grpc');
my $nginx  = start_recipe($recipe);
my $first  = call($nginx);
is_deeply [@$first{qw(:status grpc-status x-ratelimit-used)}], [200, 0, 1], 'a call passes';
h2load($nginx->port, '/', requests => 99);
my $exhausted = call($nginx);
is_deeply [@$exhausted{qw(:status grpc-status grpc-message content-type alone x-ratelimit-remaining)}],
    [200, 8, 'rate limit exceeded', 'application/grpc', 1, 0],
    'over the limit: 200, RESOURCE_EXHAUSTED and a message in headers alone, of the type that clients expect';
like $exhausted->{'retry-after'}, qr/^\d+$/, 'which say when to come again';

my $absent = free_port();
my $denying = start_recipe("rate_limit_redis absent { shard a primary=127.0.0.1:$absent; } rate_limit_store absent;
    rate_limit_on_error deny; $recipe");
my $denied = call($denying);
is_deeply [@$denied{qw(:status grpc-status alone)}], [200, 14, 1], 'a limit that cannot be checked: UNAVAILABLE';

done;

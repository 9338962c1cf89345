# conf-examples/models.conf: what the answers of language models say is charged, in each server's form, whole and as a stream; what says nothing
# keeps its reservation.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $model  = RateLimit::Model->start;
my $nginx  = start_example('models', shards => $shards, app => $model);

my @json = ('Content-Type' => 'application/json');

# Returns what each limit has counted, by its name. A window by the clock whose whole use was given back is still stored,
# with nothing used.
sub counted () {
    my %used = map { my $redis = $_; map { m{^rl:(\w+)/} && $1 ne 'answers' ? ($1 => $redis->hash($_)->{used}) : () } $redis->keys } $shards->primaries;
    return {map { $used{$_} ? ($_ => $used{$_}) : () } keys %used};
}
sub charged ($what, %expected) {
    wait_until { eq_hash(counted(), \%expected) } what => "$what: " . explain(\%expected);
    return pass $what;
}
sub tokens ($in, $out) { return (tokens => $in + $out, tokens_a_day => $in + $out, money => 3 * $in + 15 * $out) }

my @forms = (
    ['OpenAI, chat'      => '/v1/chat/completions', '{"model":"m","max_tokens":40,"messages":[{"role":"user","content":"three words here"}]%s}',
        ',"stream":true,"stream_options":{"include_usage":true}'],
    ['vLLM'              => '/v1/chat/completions', '{"model":"m","max_tokens":40,"messages":[{"role":"user","content":"three words here"}]%s}',
        ',"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}'],
    ['OpenAI, responses' => '/v1/responses', '{"model":"m","max_output_tokens":40,"input":"three words here"%s}', ',"stream":true'],
    ['Anthropic'         => '/v1/messages', '{"model":"m","max_tokens":40,"messages":[{"role":"user","content":"three words here"}]%s}', ',"stream":true'],
    ['Ollama'            => '/api/chat', '{"model":"m","options":{"num_predict":40},"messages":[{"role":"user","content":"three words here"}]%s}', ',"stream":true'],
);
for (@forms) {
    my ($name, $uri, $body, $streams) = @$_;
    for my $more ($name eq 'Ollama' ? ',"stream":false' : '', $streams) {
        $shards->flush;
        my $response = $nginx->post($uri, sprintf($body, $more), @json, 'Authorization' => 'Bearer a');
        is $response->status, 200, "$name$more";
        charged("$name$more: what the answer says", requests => 1, tokens(3, 40));
    }
}
my $gemini = '{"contents":[{"role":"user","parts":[{"text":"three words here"}]}],"generationConfig":{"maxOutputTokens":40}}';
for my $uri ('/v1beta/models/m:generateContent', '/v1beta/models/m:streamGenerateContent?alt=sse') {
    $shards->flush;
    is $nginx->post($uri, $gemini, @json, 'x-goog-api-key' => 'g')->status, 200, "Gemini, $uri";
    charged("Gemini, $uri: what the answer says", requests => 1, tokens(3, 40));
}

# Without usage the reservation stays: the request's bytes divided by four, and the most that the answer may have.
my $silent = '{"stream":true,"max_tokens":7,"messages":[{"content":"silent"}]}';
my $bytes  = length $silent;
my $kept   = ceil($bytes / 4) + 7;
$shards->flush;
$nginx->post('/v1/chat/completions', $silent, @json);
charged('no usage: what was reserved', requests => 1, tokens => $kept, tokens_a_day => $kept, money => ceil($bytes * 3 / 4) + 7 * 15);

$shards->flush;
is $nginx->post('/v1/chat/completions', '{"messages":[{"content":"fail"}]}')->status, 500, 'a server that fails';
charged('... costs nothing but a request', requests => 1);

# The headers tell clients the limit of tokens.
$shards->flush;
my $told = $nginx->post('/v1/chat/completions', '{"max_tokens":5,"messages":[{"content":"one"}]}', @json, 'Authorization' => 'Bearer b');
is $told->header('x-ratelimit-limit-tokens'), 20_000, 'the limit of tokens';
cmp_ok $told->header('x-ratelimit-remaining-tokens'), '<', 20_000, '... and what is left, by the estimate';
like $told->header('x-ratelimit-reset-tokens'), qr/^(?:59|60)s$/, '... and for how long';
is $told->header('X-RateLimit-Resource'), 'tokens', '... also in the X-RateLimit fields, though fewer requests are left';

# Over the limit. The last answer may be longer than its estimate; it is charged all the same.
wait_until { (counted()->{money} // 0) == 78 } what => 'its charges';
$shards->flush;
is $nginx->post('/v1/chat/completions', '{"max_tokens":25000,"messages":[{"content":"much"}]}', @json, 'Authorization' => 'Bearer c')->status, 200, 'a long answer';
wait_until { (counted()->{tokens} // 0) >= 25_000 } what => 'its cost';
my $over = $nginx->post('/v1/chat/completions', '{"max_tokens":1,"messages":[{"content":"more"}]}', @json, 'Authorization' => 'Bearer c');
is $over->status, 429, 'no tokens are left';
is $over->header('X-RateLimit-Resource'), 'tokens', '... of that limit';
like $over->header('Retry-After'), qr/^(?:59|60|61)$/, '... for a minute';

done;

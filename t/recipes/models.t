# docs/models.md: each limit of it charges what answers say, alone and beside the first.

use RateLimit::Test;

my $document = project_file('docs/models.md');
my $shards   = RateLimit::Shards->start(1, replicas => 1);
my $dear     = RateLimit::Model->start;
my $cheap    = RateLimit::Model->start;
my $rule     = code($document, 'recipe: tokens');

my @client = ('Authorization' => 'Bearer k', 'Content-Type' => 'application/json');

# The recipe's server with more lines in its location, or before it.
sub with (%more) {
    my $text = ($more{before} // '') . $rule;
    $text =~ s/^(?= +proxy_set_header)/$more{lines}/m or die "the recipe has no proxy_set_header\n" if $more{lines};
    $text =~ s/^ +rate_limit 20000r.*\n//m if $more{alone};
    $text =~ s/10\.0\.1\.1:8080;(?=\n    \})/\$models;/ if $text =~ /map .* \$models/;
    $text =~ s/10\.0\.1\.2:8080/$cheap->address/e;
    $shards->flush;
    return start_text($text, shards => $shards, app => $dear);
}
sub ask ($nginx, $out, %more) {
    my $body = sprintf '{"max_tokens":%d,"messages":[{"content":"%s"}]%s}', $out, $more{prompt} // 'three words here', $more{stream} // '';
    return $nginx->post('/v1/chat/completions', $body, @client);
}
sub counted () { return {map { m{^rl:(\w+)/} ? ($1 => $shards->primary->hash($_)->{used}) : () } $shards->primary->keys} }
sub charged ($what, %expected) {
    wait_until { eq_hash(counted(), \%expected) } what => "$what: " . explain(\%expected);
    return pass $what;
}
my $streams = ',"stream":true,"stream_options":{"include_usage":true}';

my $nginx = with();
is ask($nginx, 100)->status, 200, 'an answer';
charged('its tokens', tokens => 103);
is ask($nginx, 100, stream => $streams)->status, 200, 'a stream';
charged('its tokens', tokens => 206);
is ask($nginx, 1, prompt => 'fail')->status, 500, 'a server that fails';
charged('costs nothing', tokens => 206);
is ask($nginx, 1, prompt => 'silent', stream => ',"stream":true')->status, 200, 'a stream without usage';
wait_until { counted()->{tokens} > 700 } what => 'its reservation to stay';
is ask($nginx, 19_500)->status, 200, 'an answer that is longer than what is left';
wait_until { counted()->{tokens} > 20_000 } what => 'what it has, all the same';
is ask($nginx, 1)->status, 429, 'the next one is rejected';

$nginx = with(alone => 1, before => code($document, 'recipe: estimate map'), lines => code($document, 'recipe: estimate'));
is ask($nginx, 18_000, prompt => 'silent', stream => ',"stream":true')->status, 200, 'the most that is asked for';
wait_until { (counted()->{tokens} // 0) > 18_000 } what => 'it to be reserved';
cmp_ok counted()->{tokens}, '<', 18_100, '... and not more';
is ask($nginx, 2000)->status, 429, 'what does not fit';
is ask($nginx, 1000)->status, 200, 'what fits';
for my $said ('8e3', '-1', '0') {
    $shards->flush;
    $nginx->post('/v1/chat/completions', qq({"stream":true,"max_tokens":$said,"messages":[{"content":"silent"}]}), @client[2, 3], Authorization => $said);
    wait_until { (counted()->{tokens} // 0) >= 4000 } what => "no sound number: $said";
    cmp_ok counted()->{tokens}, '<', 4100, "... $said reserves much";
}

$nginx = with();
$nginx->http->request('POST', '/v1/chat/completions', [@client, 'Transfer-Encoding' => 'chunked'], "41\r\n" . sprintf('%-65s', '{"stream":true,"max_tokens":1,"messages":[{"content":"silent"}]}') . "\r\n0\r\n\r\n");
charged('in chunks: what is reserved does not go by the length', tokens => 2500);

$nginx = with(lines => code($document, 'recipe: model'));
is $nginx->post('/v1/chat/completions', qq({"model":"$_","max_tokens":5100,"messages":[{"content":"x"}]}), @client)->status, 200, "model $_"
    for qw(a b);
wait_until { 2 == grep { m{^rl:of_model/60:key:Bearer k\|[ab]$} && $shards->primary->hash($_)->{used} == 5101 } $shards->primary->keys } what => 'a window for each';
is $nginx->post('/v1/chat/completions', '{"model":"a","messages":[{"content":"x"}]}', @client)->status, 429, 'the first model is used up';

$nginx = with(lines => code($document, 'recipe: money'));
is ask($nginx, 100)->status, 200, 'money';
charged('as tokens of input and output cost', tokens => 103, money => 3 * 3 + 100 * 15);

$nginx = with(alone => 1, lines => code($document, 'recipe: apart'));
is ask($nginx, 100)->status, 200, 'input and output';
charged('apart', input => 3, output => 100);
is ask($nginx, 5000)->status, 200, 'more output than is left';
charged('is charged', input => 6, output => 5100);
is ask($nginx, 1)->status, 429, 'no output is left';
charged('nothing is reserved in the other limit', input => 6, output => 5100);

$nginx = with(lines => code($document, 'recipe: answers'));
is ask($nginx, 1)->status, 200, 'answers at a time';
like $nginx->post('/v1/chat/completions', '{}', @client)->status, qr/^2/, '... one after another';

$nginx = with(before => code($document, 'recipe: cheaper map'), lines => code($document, 'recipe: cheaper'));
is ask($nginx, 15_000)->status, 200, 'what is dear';
charged('is charged as such', tokens => 15_003, dear => 15_003);
$shards->primary->cmd('HSET', (grep { m{^rl:dear/} } $shards->primary->keys)[0], used => 100_000);
is_deeply [$cheap->generated], [], 'the cheap server has done nothing';
is ask($nginx, 100)->status, 200, 'who is over it';
wait_until { my @generated = $cheap->generated; @generated == 1 } what => 'the cheap server to answer';
charged('... is not charged as dear', tokens => 15_106, dear => 100_000);

$nginx = with(lines => code($document, 'recipe: fields'));
my $told = ask($nginx, 100);
is $told->header('x-ratelimit-limit-tokens'), 20_000, 'fields of OpenAI: the limit';
like $told->header('x-ratelimit-remaining-tokens'), qr/^19[34]\d\d$/, '... what is left';
like $told->header('x-ratelimit-reset-tokens'), qr/^(?:59|60)s$/, '... and when it is whole again';

done;

package RateLimit::Model;

# A server of language models that answers in the documented forms of others, whole or as a stream.
#
#   my $model = RateLimit::Model->start;             # pace => 0.01: the seconds that a token takes
#   $model->generated;                               # how many tokens it has sent of each answer, in order of their ends
#
# It answers with as many tokens as the request allows, 20 where it says nothing, and counts each word of the prompt as one:
#
#   POST /v1/chat/completions    OpenAI, vLLM: the usage in a stream where "stream_options" ask for it, with "continuous_usage_stats" in each piece
#   POST /v1/responses           OpenAI
#   POST /v1/messages            Anthropic
#   POST /v1beta/models/NAME:generateContent, :streamGenerateContent          Gemini
#   POST /api/chat               Ollama
#
# A prompt of "fail" gets 500, one of "silent" no usage. See RateLimit::Server for the rest.

use v5.36;

use parent 'RateLimit::Backend';

use JSON::PP ();
use List::Util qw(max);

my $json = JSON::PP->new->canonical;

my @forms = (
    [qr{^/v1/chat/completions$},                       \&chat],
    [qr{^/v1/responses$},                              \&responses],
    [qr{^/v1/messages$},                               \&messages],
    [qr{^/v1beta/models/.+:(?:stream)?generateContent$}i, \&gemini],
    [qr{^/api/chat$},                                  \&ollama],
);

sub start ($class, %opt) {
    my $pace = $opt{pace} // 0;
    return $class->SUPER::start(handler => sub ($request, $conn) { answer($request, $conn, $pace) }, %opt);
}

sub generated ($self) { return map { $_->[1] } grep { $_->[0] eq 'generated' } $self->records }

sub answer ($request, $conn, $pace) {
    my $asked = eval { $json->decode($request->{body}) };
    my $path  = $request->{uri} =~ s/\?.*//r;
    my ($form) = map { $_->[1] } grep { $path =~ $_->[0] } @forms;
    return [404, ['Content-Type' => 'application/json'], '{"error":"no such path"}'] if !$form;
    return [400, ['Content-Type' => 'application/json'], '{"error":"no JSON"}']      if ref $asked ne 'HASH';
    my ($words) = join ' ', $request->{body} =~ /"(?:content|text|input)"\s*:\s*"([^"]*)"/g;
    return [500, ['Content-Type' => 'application/json'], '{"error":"overloaded"}'] if $words eq 'fail';
    my %of = (
        asked => $asked, silent => $words eq 'silent', in => scalar(() = $words =~ /\S+/g),
        out   => max(0, $asked->{max_tokens} // $asked->{max_output_tokens} // $asked->{generationConfig}{maxOutputTokens} // $asked->{options}{num_predict} // 20),
        streams => $asked->{stream} // scalar($path =~ /stream/i),
    );
    # Ollama streams where nothing is said.
    $of{streams} = $asked->{stream} // 1 if $form == \&ollama;
    my ($whole, $type, $write, @pieces) = $form->(\%of);
    if (!$of{streams}) {
        $conn->{server}->note('generated', $of{out});
        my $answer = [200, ['Content-Type' => 'application/json'], $json->encode($whole)];
        return $pace ? $conn->later($pace * $of{out}, $answer) : $answer;
    }
    return stream($conn, $type, $pace, scalar(@pieces) - $of{out}, map { $write->($_) } @pieces);
}

# The end of the stream keeps its place among the answers; what comes before it leaves as it is due. $others of the pieces are no tokens.
sub stream ($conn, $type, $pace, $others, @pieces) {
    my $server = $conn->{server};
    my $sent   = -$others;
    my $end    = $conn->place("0\r\n\r\n");
    my $next;
    $next = sub {
        for my $piece ($pace ? shift @pieces // () : splice @pieces) {
            ++$sent;
            $conn->send(sprintf "%x\r\n%s\r\n", length $piece, $piece);
        }
        return $server->after($pace, $next) if @pieces && !$conn->{gone};
        $server->note('generated', $sent < 0 ? 0 : $sent);
        $end->{ready} = 1;
        undef $next;
        return $conn->{gone} || $conn->flush;
    };
    $server->after(0, sub {
        $conn->send("HTTP/1.1 200 OK\r\nContent-Type: $type\r\nTransfer-Encoding: chunked\r\n\r\n");
        $next->();
    });
    return $end;
}

sub event ($piece) { return ref $piece ? 'data: ' . $json->encode($piece) . "\n\n" : "data: $piece\n\n" }
sub named ($piece) { return "event: $piece->{type}\n" . event($piece) }
sub line ($piece)  { return $json->encode($piece) . "\n" }

sub chat ($of) {
    my ($in, $out) = @$of{qw(in out)};
    my $options = $of->{asked}{stream_options} // {};
    my sub usage ($so_far) {
        return $of->{silent} ? () : (usage => {prompt_tokens => $in, completion_tokens => $so_far, total_tokens => $in + $so_far});
    }
    my sub chunk ($so_far, @choices) {
        return {object => 'chat.completion.chunk', choices => \@choices, $options->{continuous_usage_stats} ? usage($so_far) : ()};
    }
    return {object => 'chat.completion', choices => [{index => 0, message => {role => 'assistant', content => 'x ' x $out}, finish_reason => 'length'}], usage($out)},
        'text/event-stream', \&event,
        chunk(0, {index => 0, delta => {role => 'assistant', content => ''}}),
        (map { chunk($_, {index => 0, delta => {content => 'x '}}) } 1 .. $out),
        chunk($out, {index => 0, delta => {}, finish_reason => 'length'}),
        ($options->{include_usage} ? {%{chunk($out)}, usage($out)} : ()), '[DONE]';
}

sub responses ($of) {
    my ($in, $out) = @$of{qw(in out)};
    my $whole = {object => 'response', status => 'completed', output => [{type => 'message', content => [{type => 'output_text', text => 'x ' x $out}]}],
        $of->{silent} ? () : (usage => {input_tokens => $in, output_tokens => $out, total_tokens => $in + $out})};
    return $whole, 'text/event-stream', \&named,
        {type => 'response.created', response => {object => 'response', status => 'in_progress', usage => undef}},
        (map { {type => 'response.output_text.delta', delta => 'x '} } 1 .. $out),
        {type => 'response.completed', response => $whole};
}

sub messages ($of) {
    my ($in, $out) = @$of{qw(in out)};
    my sub usage (%of_piece) { return $of->{silent} ? () : (usage => \%of_piece) }
    return {type => 'message', content => [{type => 'text', text => 'x ' x $out}], usage(input_tokens => $in, output_tokens => $out)},
        'text/event-stream', \&named,
        {type => 'message_start', message => {type => 'message', content => [], usage(input_tokens => $in, output_tokens => 1)}},
        {type => 'content_block_start', index => 0, content_block => {type => 'text', text => ''}},
        (map { {type => 'content_block_delta', index => 0, delta => {type => 'text_delta', text => 'x '}} } 1 .. $out),
        {type => 'content_block_stop', index => 0},
        {type => 'message_delta', delta => {stop_reason => 'max_tokens'}, usage(output_tokens => $out)}, {type => 'message_stop'};
}

sub gemini ($of) {
    my ($in, $out) = @$of{qw(in out)};
    my sub piece ($text, $so_far) {
        return {candidates => [{content => {role => 'model', parts => [{text => $text}]}}],
            $of->{silent} ? () : (usageMetadata => {promptTokenCount => $in, candidatesTokenCount => $so_far, totalTokenCount => $in + $so_far})};
    }
    return piece('x ' x $out, $out), 'text/event-stream', \&event, map { piece('x ', $_) } 1 .. $out;
}

sub ollama ($of) {
    my ($in, $out) = @$of{qw(in out)};
    my sub piece ($text, %more) { return {model => 'm', message => {role => 'assistant', content => $text}, done => JSON::PP::false, %more} }
    my %done = (done => JSON::PP::true, $of->{silent} ? () : (prompt_eval_count => $in, eval_count => $out));
    return piece('x ' x $out, %done), 'application/x-ndjson', \&line, (map { piece('x ') } 1 .. $out), piece('', %done);
}

1;

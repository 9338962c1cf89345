# A reason can be given to each act: at most 128 bytes, whatever they are. It stands in the list, in JSON, in Redis for the other machines, and in the log,
# where it cannot forge a line.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my @start = (
    http   => redis_block('main', $redis, 'overrides shared;') . 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; } location /a/ { alias %%DIR%%/html/; rate_limit 9r/h name=a; }
        location /b/ { alias %%DIR%%/html/; rate_limit 9r/h name=b store=main; }',
);
my ($nginx, $other) = map { RateLimit::Nginx->start(@start) } 1 .. 2;
my sub reason_on ($machine) { return [map { $_->{reason} } @{$machine->told->{overrides}}] }

is $nginx->act(do => 'ban', key => 'k', limit => 'a')->json->{override}{reason}, undef, 'none';
my %reasons = (
    'too+many+logins'                => 'too many logins',
    '%3Cb%3E%22x%22%0A%C3%A9%FF100%25' => "<b>\"x\"%0A\xe9%FF100%25",
    'r' x 128                        => 'r' x 128,
);
for my $limit (qw(a b)) {
    for my $posted (sort keys %reasons) {
        my $answer = $nginx->act(do => 'ban', key => 'k', limit => $limit, reason => $posted);
        is $answer->json->{override}{reason}, $reasons{$posted}, "$limit: it is told";
        like $nginx->get('/limits/')->body, qr/\Q@{[utf8_html($reasons{$posted})]}\E/, '... and listed';
    }
    is $nginx->act(do => 'ban', key => 'k', limit => $limit, reason => 'r' x 129)->status, 400, 'too long';
}
is $nginx->act(do => 'off', limit => 'b', reason => '%3Cb%3E%0A%FF')->status, 200, 'of a limit that machines share';
wait_until { @{reason_on($other)} == 2 } what => 'the other machine to have them';
is_deeply [sort @{reason_on($other)}], ['<b>%0A%FF', 'too many logins'], '... with their reasons';
is $nginx->count_log(qr/by the console, reason "<b>\\x22x\\x22\\x0a\\xc3\\xa9\\xff100%", client: 127/), 2, 'logged in one line';
is $nginx->act(do => 'reset', key => 'k', limit => 'a', reason => 'a+gift')->status, 200, 'of a reset';
is $nginx->count_log(qr/: reset in 3600 s: .*, by the console, reason "a gift", client: /), 1, '... it is logged';
is $nginx->act(do => 'reset', key => 'k', limit => 'a', reason => 'r' x 129)->status, 400, '... and not too long either';
done;

sub utf8_html ($text) {
    my $html = $text =~ s/&/&amp;/gr =~ s/</&lt;/gr =~ s/>/&gt;/gr =~ s/"/&quot;/gr;
    utf8::encode($html);
    return $html;
}

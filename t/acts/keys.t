# A key may hold any byte. It is posted as it is, or as the console shows it, with %XX for what is no text; its windows are found either way. The console
# tells it under keys=plain alone: neither an answer nor the log has it else.

use RateLimit::Test;
use MIME::Base64 qw(encode_base64);

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2, http => redis_block('main', $redis) . 'rate_limit_key $http_x_key;',
    server  => 'location /limits/ { rate_limit_console manage; } location /plain/ { rate_limit_console manage keys=plain; }
        location / { rate_limit 5r/h name=core store=main mode=charge_refund; }',
);
my sub post ($at, %fields) {
    my $body = join '&', map { my $value = $fields{$_} =~ s/([^A-Za-z0-9])/sprintf '%%%02x', ord $1/ger; "$_=$value" } sort keys %fields;
    return $nginx->post($at, $body, 'Content-Type' => 'application/x-www-form-urlencoded');
}
my sub look ($at, $key) { return post($at, key => $key, limit => 'core')->json }

my @keys = ('a"b\\c<d>&\'', "tab\there", "\xff\xfe", "\xc3\xa4", 'k' x 128, 'k' x 200, 'a+b&c=d', '100%', '%zz', join('', map { chr } 33 .. 255));
for my $key (@keys) {
    my $name = length $key > 20 ? length($key) . ' bytes' : $key =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ger;
    is $nginx->get('/', 'X-Key' => $key)->status, 200, "a request of $name";
    my $hidden = look('/limits/key', $key);
    is $hidden->{windows}[0]{used}, 1, '... is found by its key';
    my $shown = look('/plain/key', $key);
    is $shown->{id}, $hidden->{id}, '... of the same id';
    utf8::encode(my $text = $shown->{key});
    is look('/limits/key', $text)->{windows}[0]{used}, 1, '... and as the console shows it';
    is post('/limits/key', do => 'reset', key => $key, limit => 'core')->status, 200, '... to be reset';
    is look('/limits/key', $key)->{windows}[0]{used}, 0, '... which it is';
}
is look('/plain/key', "nul\0end")->{key}, 'nul%00end', 'NUL';
isnt look('/limits/key', "nul\0end")->{id}, look('/limits/key', 'nul')->{id}, '... ends no key';
is look('/plain/key', '%41')->{key}, 'A', 'a byte by its digits';
is look('/plain/key', '%2541')->{key}, '%2541', 'a percent sign before two digits is one, too';

my $secret = join '', map { ('a' .. 'z', 'A' .. 'Z')[rand 52] } 1 .. 40;
$nginx->get('/', 'X-Key' => $secret);
my @answers = map { my @act = @$_; map { post($_, key => $secret, @act)->body } '/limits/key' } [], [limit => 'core'], [do => 'reset', limit => 'core'], [do => 'add', limit => 'core', cost => 3],
    [do => $secret], [do => 'reset', limit => $secret], [limit => $secret], [do => 'add', limit => 'core', cost => $secret], [do => 'reset', limit => 'core', period => $secret];
# A page carries the key to the acts that may follow, in hidden fields.
push @answers, map { s/<input type="hidden" name="key" value="[^"]*">//gr } map { $nginx->act("key=$secret$_", Accept => 'text/html')->body } '', '&limit=core&do=reset', '&limit=core';
my $any = join '|', map { quotemeta } $secret, unpack('H*', $secret), uc unpack('H*', $secret), map { substr encode_base64(('x' x $_) . $secret, ''), 4, 44 } 0 .. 2;
unlike $_, qr/$any/, 'no key in an answer' for @answers;
$nginx->wait_log(qr/reset in 3600 s: 0 used/);
unlike $nginx->error_log, qr/$any/, 'nor in the log';
like post('/plain/key', do => 'reset', key => $secret, limit => 'core')->body, qr/$secret/, 'under keys=plain the answer has it';
$nginx->wait_log(qr/key "$secret"/);

done;

# The result of an act is a page where HTML is asked for: it says the result in words, and shows the windows of the key, the limit's override, and a form
# for each act that may follow. Posted text is shown as text, never as HTML. The key itself is shown only under keys=plain, because hidden fields then hold
# it for the next acts.

use RateLimit::Test;

my $shards = RateLimit::Shards->start(1, replicas => 1);
my $nginx  = RateLimit::Nginx->start(http => $shards->block('main') . 'rate_limit_key $http_x_key;', server => '
    location /limits/ { rate_limit_console manage; } location /plain/ { rate_limit_console manage keys=plain; } location /view/ { rate_limit_console view; }
    location /a { rate_limit 5r/h name=core store=main mode=charge_refund; } location /two { rate_limit 5r/2h name=core store=main mode=charge_refund; }
    location /clock { rate_limit 5r/h name=core store=main mode=charge_refund window=clock; }
    location /local { rate_limit 5r/h name=core; } location /search { rate_limit 5r/h name=search; }');
$nginx->get("/$_", 'X-Key' => 'mona') for qw(a a a local search);
my sub encoded ($text) { return $text =~ s/([^A-Za-z0-9])/sprintf '%%%02X', ord $1/ger }
my sub post ($path, %fields) {
    return $nginx->post($path, join('&', map { "$_=" . encoded($fields{$_}) } sort keys %fields),
        'Content-Type' => 'application/x-www-form-urlencoded', Accept => 'text/html,application/xhtml+xml;q=0.9');
}
my sub line ($response) { return ($response->body =~ m{<h1>(.*?)</h1>})[0] =~ s/&quot;/"/gr }
my sub forms ($response) { return [$response->body =~ /<button name="do" value="(\w+)">/g] }

my $form = $nginx->get('/limits/key', Accept => 'text/html');
is $form->header('Content-Type'), 'text/html; charset=utf-8', 'the form';
like $form->header('Content-Security-Policy'), qr/^default-src 'none'; style-src 'sha256-/, '... with its policy';
like $form->body, qr{<form method="post" action="\./key">.*<option value="core">core</option><option value="search">}s, '... names the limits';
like $nginx->get('/limits/')->body, qr{<a href="\./key">Look up a key</a>}, 'the page has a link to it';
unlike $nginx->get('/view/')->body, qr/Look up/, '... where one may act';

my $found = post('/limits/key', key => 'mona', limit => 'core', store => 'main');
is $found->status, 200, 'a look-up';
is line($found), 'Looked up: nothing was changed.', '... in words';
like $found->body, qr{<h2[^>]*>Limit core, store main</h2>.*<th scope="row">3600 s</th><td>open</td><td class="n">5</td><td class="n">3</td><td class="n">2</td>}s, '... its window';
like $found->body, qr{name="period" value="3600"}, '... whose period the forms name';
is_deeply forms($found), [qw(reset add ban allow clear enforce off clear)], '... and what may follow';
my @shown = $found->body =~ /(.{40}mona)/sg;
is_deeply [grep { !/<input type="hidden" name="key" value="mona/ } @shown], [], 'the key is in hidden fields alone';
like post('/plain/key', key => 'mona')->body, qr/<input name="key" value="mona"/, '... but under keys=plain';
my $all = post('/limits/key', key => 'mona');
is scalar(() = $all->body =~ /<h2[^>]*>Limit /g), 3, 'all limits, where none is named';
is_deeply forms($all), [qw(ban allow clear)], '... with acts on all of them';
my @ways = $all->body =~ m{<input type="hidden" name="key" value="mona"><input type="hidden" name="limit" value="(\w+)"><input type="hidden" name="store" value="(\w+)"><button>Act on this limit<}g;
is_deeply \@ways, [qw(core main core local search local)], '... but a form to each';

my $reset = post('/limits/key', key => 'mona', limit => 'core', store => 'main', do => 'reset', period => 3600);
is line($reset), 'Reset: all that was used has been given back.', 'a reset';
like $reset->body, qr{<td class="n none">0</td><td class="n">5</td>}, '... shows what is there then';
is line(post('/limits/key', key => 'mona', limit => 'core', store => 'main', do => 'ban', for => '10m')), 'Banned.', 'a ban';
like post('/limits/key', key => 'mona', limit => 'core', store => 'main')->body, qr{<b>Override: ban</b> until }, '... is shown';
$nginx->get("/two", 'X-Key' => 'lisa');
$nginx->get("/a",   'X-Key' => 'lisa');
like post('/limits/key', key => 'lisa', limit => 'core', store => 'main')->body, qr{<select name="period"><option value="\d+">}, 'of several windows one is chosen';
$nginx->get("/$_", 'X-Key' => 'anna') for qw(a clock two);
my $twice = post('/limits/key', key => 'anna', limit => 'core', store => 'main')->body;
is scalar(() = $twice =~ m{<th scope="row">\d+ s</th>}g), 3, 'windows of both kinds';
is_deeply [$twice =~ m{<button name="do" value="reset">}g, ($twice =~ m{<select name="period">(.*?)</select>}s)[0] =~ /value="(\d+)"/g],
    ['<button name="do" value="reset">', 3600, 7200], '... each period once';
is_deeply forms(post('/limits/key', key => 'nobody', limit => 'core', store => 'main')), [qw(ban allow clear enforce off clear)], 'without a window nothing to give back';

my $error = post('/limits/key', key => 'mona', limit => 'core', do => 'reset');
is $error->status, 409, 'an error';
like $error->body, qr{<div class="health bad"><h1>[A-Z]}, '... in words';
like $error->body, qr{name="key" value="mona">.*<button>Look up the same key</button>}s, '... after which one need not type again';
for my $odd (q{"><script>x</script>}, "a\0b\n", "\xff%41", q{'&amp;}) {
    my $page = post('/plain/key', key => $odd, limit => $odd, do => $odd, store => $odd, for => $odd);
    is $page->status, 400, 'odd fields';
    unlike $page->body, qr/<script|\xff|\0/, '... are text';
    my ($key) = $page->body =~ /<input name="key" value="([^"]*)"/;
    $key =~ s/&(\w+|#39);/{lt => '<', gt => '>', quot => '"', amp => '&', '#39' => "'"}->{$1}/ge;
    my $again = post('/plain/key', key => $key);
    is(($again->body =~ /<input name="key" value="([^"]*)"/)[0], ($page->body =~ /<input name="key" value="([^"]*)"/)[0], '... that stays what it is');
}

done;

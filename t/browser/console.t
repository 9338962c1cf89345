# The console of conf-examples/console.conf in a real browser: nothing is refused by its policy nor asked for beyond it; it fits a small screen; keys
# are text; the form works by real clicks; other pages can neither post it nor frame it; and a screen reader is told what eyes see.
# SHOTS=DIR keeps pictures of it.

use RateLimit::Test;
use RateLimit::Browser;

my $missing = RateLimit::Browser->missing;
plan skip_all => $missing if $missing;

my $shards = RateLimit::Shards->start(2, replicas => 1);
my $app    = RateLimit::Backend->start;
my $nginx  = start_example(
    'console', shards => $shards, app => $app,
    replace => {'127.0.0.1:8081' => '127.0.0.1:%%PORT_1%%', '/etc/nginx/console.htpasswd' => '%%DIR%%/htpasswd', '/etc/nginx/scrape.htpasswd' => '%%DIR%%/none'},
    nginx   => {clock => 1, workers => 2},
    more    => 'server { listen 127.0.0.1:%%PORT_2%%;
        location /shown/ { rate_limit_console view keys=plain; } location /odd { rate_limit_key $uri; rate_limit 0r/s name=odd store=local; }
        location = /zeros { rate_limit_key odd$binary_remote_addr; rate_limit 0r/s name=odd store=local; }
        location /new { rate_limit 2r/h name=new store=local dry_run=on; } location /graphql { rate_limit 500r/h name=graphql mode=lease; } }
        server { listen 127.0.0.1:%%PORT_3%%; default_type text/html;
            location = /post { alias %%DIR%%/html/post.html; } location = /frame { alias %%DIR%%/html/frame.html; } }',
);
write_text($nginx->folder . '/htpasswd', "operator:{PLAIN}secret\n");
my ($port, $other, $foreign) = map { $nginx->port($_) } 1, 2, 3;
my $console = "http://127.0.0.1:$port/limits/";
write_text($nginx->folder . '/html/post.html', qq{<form method="post" action="${console}key"><input name="key" value="key:mona"><input name="limit" value="core">
    <input name="do" value="reset"><button>Post</button></form>});
write_text($nginx->folder . '/html/frame.html', qq{<iframe src="http://127.0.0.1:$other/shown/"></iframe>});
my sub ask ($uri, $user, $count = 1) { return map { $nginx->get($uri, 'X-API-Key' => $user) } 1 .. $count }
my sub others ($uri, $user = '') { return RateLimit::HTTP->new(port => $other)->get($uri, 'X-API-Key' => $user) }

# The load of an hour, for the eyes. Nobody waits for it.
my $ahead = 0;
if ($ENV{SHOTS}) {
    my $begin = 60 * ceil(time / 60);
    for my $minute (0 .. 58) {
        $ahead = $begin + 60 * $minute + 5 - time;
        $nginx->travel("+$ahead");
        my $load = 6 + 5 * sin($minute / 9) + rand 3;
        ask('/', 'user' . int(rand 9), 1) for 1 .. 2 * $load;
        ask('/search', 'mona', 2) for 1 .. ($minute % 10 > 6 ? 21 : 4);
        others('/graphql', 'user' . int(rand 5)) for 1 .. $load / 2;
        others('/new', 'user' . int(rand 3)) for 1 .. $load / 4;
        let_pass(1.1);
    }
}

my $browser = RateLimit::Browser->start->open($console =~ s{//}{//operator:secret\@}r);
my sub picture ($name, %opt) { $browser->screenshot("$ENV{SHOTS}/$name.png", %opt) if $ENV{SHOTS}; return }
my sub pictures ($name) {
    for my $scheme (qw(light dark)) {
        $browser->view(1200, 1000, $scheme)->open("$console?refresh=off");
        picture("console-$name-$scheme");
    }
    return $browser->view(1200, 900);
}

# 1. It is whole by itself.
ask('/', 'mona', 30);
ask('/search', 'mona', 32);
$browser->open("$console?refresh=off");
is_deeply [$browser->complaints], [], 'the browser has nothing to complain about';
is_deeply [$browser->requests], ["$console?refresh=off"], 'it asks for nothing else';
is $browser->text('h1'), 'Nothing is wrong.', 'the first line';
like $browser->value('document.body.innerText'), qr/\A\s*Nothing is wrong\./, 'is the first that one reads';
is $browser->value('getComputedStyle(document.querySelector("h1")).fontSize'), '18.4px', 'its style is in force';
pictures('good');

# 3. It fits.
for my $width (360, 768, 1280, 2560) {
    $browser->view($width, 800)->open("$console?refresh=off");
    cmp_ok $browser->value('document.documentElement.scrollWidth'), '<=', $width, "$width px wide";
}
$browser->view(1200, 800)->open("$console?refresh=off");
is_deeply $browser->value('[...document.querySelectorAll(".wide")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)'), [], 'no table is cut on a desktop';
$browser->view(1280, 900, 'light', 'print');
is $browser->value('getComputedStyle(document.querySelector("nav")).display'), 'none', 'on paper it has no links';
$browser->view(1280, 900);

# By the keyboard.
$browser->open("$console?refresh=off");
my @reached;
for (1 .. 6) {
    $browser->press('Tab');
    push @reached, $browser->value('document.activeElement.innerText.split("\n")[0]');
    isnt $browser->value('getComputedStyle(document.activeElement).outlineStyle'), 'none', "Tab $_: one sees where one is";
}
is_deeply [@reached[0 .. 3]], ['Look up a key', 'JSON', 'Metrics', 'refresh every 5 s'], 'in the order of the page';

# Refreshed, or not.
$browser->open($console);
my $first = $browser->text('footer time');
wait_until { eval { $browser->text('footer time') // $first } // $first ne $first } what => 'the refresh';
$browser->follow('.refresh a');
like $browser->text('.refresh'), qr/^Not refreshed/, 'the link stops that';

# 4. The form, by real clicks.
my sub used () { return limits((ask('/', 'other'), RateLimit::HTTP->new(port => $nginx->port)->get('/rate_limit', 'X-API-Key' => 'mona'))[-1]) }
my sub cell ($name) { return $browser->value("(() => { const t = document.querySelector('table[id^=found]'); const c = [...t.tHead.rows[0].cells].map(c => c.innerText).indexOf('$name');
    return t.tBodies[0].rows[0].cells[c].innerText })()") }
$browser->open("$console?refresh=off");
$browser->follow('nav a');
is $browser->text('h1'), 'Look up a key: nothing is changed by that.', 'the form';
$browser->type('input[name=key]', 'key:mona');
$browser->value('document.querySelector("select[name=limit]").value = "core"');
$browser->follow('section button');
is $browser->text('h1'), 'Looked up: nothing was changed.', 'looks up';
cmp_ok cell('Used'), '>=', 60, 'what is used';
is_deeply [$browser->complaints], [], '... without complaint';
picture('console-key-light', whole => 1);
$browser->follow('.acts button[value=reset]');
is $browser->text('h1'), 'Reset: all that was used has been given back.', 'resets';
is cell('Used'), 0, 'what is used falls';
is $shards->used('rl:core/3600:key:mona'), 0, '... in Redis, too';
$browser->follow('.acts button[value=ban]');
is $browser->text('h1'), 'Banned.', 'bans';
is((ask('/', 'mona'))[0]->status, 429, '... the client');
$browser->open("$console?refresh=off");
like $browser->text('#overrides-table'), qr/core\s+main\s+id [0-9a-f]{16}\s+ban/, '... which the page shows';
like $browser->text('.notes'), qr/1 override holds/, '... and says at its head';

# On a phone, by the keyboard alone: from a key that is rejected to its look-up, a ban, and back.
my sub reach ($name) {
    for (1 .. 80) {
        $browser->press('Tab');
        return 1 if $browser->value('document.activeElement.getAttribute("aria-label") || document.activeElement.innerText') =~ /^$name/;
    }
    return fail "the keyboard does not reach $name";
}
my sub enter ($name, $line) {
    reach($name);
    $browser->press('Enter');
    my $said;
    eval { wait_until { ($said = eval { $browser->text('h1') } // '') eq $line } what => $line };
    return is $said, $line, "$name, by the keyboard";
}
ask('/search', 'mona', 5);
$browser->view(360, 740)->open("$console?refresh=off");
is_deeply $browser->value('[...document.querySelectorAll("#limits-table thead th")].slice(0, 3).map(e => e.innerText)'),
    ['Limit', 'Passed in 5 min', 'Rejected in 5 min'], 'a phone shows first what is lately';
cmp_ok $browser->value('document.querySelectorAll("#limits-table thead th")[2].getBoundingClientRect().right'), '<=', 360, '... on its screen';
enter('Look up id', 'Looked up: nothing was changed.');
cmp_ok $browser->value('document.documentElement.scrollWidth'), '<=', 360, 'the look-up fits';
enter('Ban', 'Banned.');
cmp_ok $browser->value('document.documentElement.scrollWidth'), '<=', 360, '... and what follows';
enter('Undo', 'The override has ended.');
is_deeply [$browser->complaints], [], '... without complaint';
$browser->view(1200, 900);

# 5. Another origin's page.
ask('/', 'lisa', 9);
my $other_origin = RateLimit::HTTP->new(port => $foreign)->get('/post')->body =~ s/mona/lisa/r;
write_text($nginx->folder . '/html/post.html', $other_origin);
$browser->open("http://127.0.0.1:$foreign/post");
$browser->follow('button');
like $browser->value('document.body.innerText'), qr/another origin/i, 'the form of another origin is refused';
is $shards->used('rl:core/3600:key:lisa'), 9, '... and nothing has changed';

# 6. In a frame.
$browser->open("http://127.0.0.1:$foreign/frame");
like join("\n", $browser->complaints), qr/frame-ancestors|refused/i, 'a frame is refused';
unlike $browser->in_frame('document.URL'), qr/shown/, '... and shows nothing';

# 7. Keys are text.
my %shown = ('/odd%3Cscript%3Ealert(1)%3C/script%3E' => '/odd<script>alert(1)</script>', '/odd%22%27%5C' => q{/odd"'\\}, '/odd%0Ax' => '/odd%0Ax',
    '/zeros' => 'odd%7F%00%00%01', '/odd%ffx' => '/odd%FFx', '/odd' . 'x' x 300 => '/odd' . 'x' x 124, '/odd%26lt;b' => '/odd&lt;b');
others($_) for sort keys %shown;
$browser->open("http://127.0.0.1:$other/shown/?refresh=off");
is $browser->value('document.scripts.length'), 0, 'no key is a script';
my @keys = @{$browser->value('[...document.querySelectorAll("td.key code")].map(e => e.textContent)')};
for my $key (map { $shown{$_} } sort keys %shown) { ok scalar(grep { $_ eq $key } @keys), substr $key, 0, 40 }
is_deeply [$browser->complaints], [], 'the browser has nothing to complain about';

# 8. What a screen reader is told.
my %roles = ("$console?refresh=off" => [qw(link meter image region table heading)], "${console}key" => [qw(textbox combobox button link heading)]);
for my $page (sort keys %roles) {
    $browser->open($page);
    my @nodes = $browser->accessible;
    my %told;
    push @{$told{$_->{role}}}, $_->{name} for @nodes;
    for my $role (qw(textbox combobox button link meter image region table)) {
        is_deeply [grep { !length } @{$told{$role} // []}], [], "each $role has a name";
    }
    is_deeply [grep { !$told{$_} } @{$roles{$page}}], [], "$page has them";
}
$browser->open("$console?refresh=off");
is $browser->value('[...document.querySelectorAll("meter")].every(m => m.textContent && m.previousElementSibling.textContent)'), JSON::PP::true, 'each meter has a text';
is $browser->value('[...document.querySelectorAll("table")].every(t => t.caption && [...t.querySelectorAll("th")].every(h => h.scope))'), JSON::PP::true,
    'each table a caption, and its headers a scope';

# 2. A primary is stopped.
my $primary = $shards->primary(0);
$primary->kill;
wait_until { ask('/', $_) for 1 .. 5; $browser->open("$console?refresh=off"); $browser->text('h1') ne 'Nothing is wrong.' } what => 'the page to say so';
like $browser->text('h1'), qr/rimary \Q@{[$primary->address]}\E of shard a of store main has been down/, 'the first line names it';

# 9. Both schemes differ, and the words of neither fade.
my %seen;
for my $scheme (qw(light dark)) {
    $browser->view(1200, 900, $scheme)->open("$console?refresh=off");
    $seen{$scheme} = $browser->value('getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color');
}
isnt $seen{light}, $seen{dark}, 'light and dark';
if ($ENV{SHOTS}) {
    $nginx->travel('+' . ($ahead + 130));
    let_pass(1.1);
}
pictures('ill');
$browser->stop;

done;

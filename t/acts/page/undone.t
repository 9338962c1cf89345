# Rows of the console's page lead to look-ups and acts, where one may act; an act that concerns all clients is asked for twice; and each change of overrides
# can be undone by a button of the page that follows it.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis, 'overrides shared;') . 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; } location /view/ { rate_limit_console view; }
        location /m/ { alias %%DIR%%/html/; rate_limit 2r/h name=m store=main; } location /b/ { alias %%DIR%%/html/; rate_limit 10r/s burst=20 name=b; }
        location / { rate_limit 2r/h name=core; }',
);
my sub post ($body) { return $nginx->act($body, Accept => 'text/html') }
my sub line ($response) { return $response->body =~ m{<h1>(.*?)</h1>} ? $1 : undef }
my sub get ($key, $uri = '/x') { return $nginx->get($uri, 'X-Key' => $key) }
my sub kind () { return join ' ', map { $_->{kind} . ($_->{percent} // '') } @{$nginx->told->{overrides}} }

# Presses the button of the first form that has it in this HTML.
my sub press ($html, $button) {
    for my $form ($html =~ m{<form [^>]*>(.*?)</form>}sg) {
        next unless $form =~ m{<button name="do" value="(\w*)"[^>]*>\Q$button\E</button>};
        my $act    = $1;
        my @fields = map { /name="(\w+)"/ && (/type="checkbox"/ ? () : "$1=" . (/value="([^"]*)"/ ? $1 =~ s/%/%25/gr =~ s/&lt;/%3C/gr : '')) } $form =~ /<input ([^>]*)>/g;
        return post(join '&', @fields, "do=$act");
    }
    return fail "no button $button";
}
my sub rows ($path, $table) { return ($nginx->get($path)->body =~ m{<table id="$table-table">(.*?)</table>}s)[0] }

get('mona') for 1 .. 4;
unlike rows('/view/', 'top'), qr/<form|<button/, 'who may look cannot act';
like rows('/limits/', 'top'), qr{<button name="do" value="ban" aria-label="Ban id [0-9a-f]{16}">Ban</button>}, 'a row has buttons, each with a name';
unlike $nginx->get('/limits/')->body =~ s{<style>.*?</style>}{}sr, qr/mona/, '... and no key';
is line(press(rows('/limits/', 'top'), 'Look up')), 'Looked up: nothing was changed.', 'it leads to its look-up';
my $banned = press(rows('/limits/', 'top'), 'Ban');
is line($banned), 'Banned.', '... and to a ban';
is get('mona')->header('X-RateLimit-Limit'), 0, '... of the key';
is line(press($banned->body, 'Undo')), 'The override has ended.', 'which is undone';
is kind(), '', '... and nothing is left';
my $cleared = post('do=clear&limit=core&key=mona');
unlike $cleared->body, qr/Undo/, 'where nothing was changed, nothing can be undone';

# Undoing an override brings back the override that it replaced.
post('do=allow&limit=core&key=mona&for=20m&reason=a%3C100%25');
my $replaced = post('do=ban&limit=core&key=mona&for=10m');
is line(press($replaced->body, 'Undo')), 'Allowed.', 'the override of before';
my ($back) = @{$nginx->told->{overrides}};
is_deeply [@{$back}{qw(kind reason)}], ['allow', 'a<100%25'], '... with its reason';
cmp_ok abs($back->{until} - $back->{from} - 1200), '<', 60, '... as long as it would have held';
my $ended = press(rows('/limits/', 'overrides'), 'Clear');
is line($ended), 'The override has ended.', 'a row of the overrides ends them';
is line(press($ended->body, 'Undo')), 'Allowed.', '... which is undone, too';
press(rows('/limits/', 'overrides'), 'Clear');

# Asked twice.
for my $case (['Switch off', 'off', 'Switched off.'], ['Enforce', 'enforce100', 'Enforced for that part of the keys.']) {
    my ($button, $what, $done) = @$case;
    my $sure = press(post('key=mona&limit=core')->body, $button);
    is line($sure), "$button: are you sure? Nothing was changed.", "$button is asked for twice";
    is kind(), '', '... and nothing is done';
    my $did = press($sure->body, $button);
    is line($did), $done, '... until it is said again';
    is kind(), $what, '... what was asked for';
    press($did->body, 'Undo');
    is kind(), '', '... and undone';
}
is line(post('do=off&limit=core')), 'Switched off.', 'without "ask" it is done at once';
post('do=clear&limit=core');

# An act without a limit is for all limits of the key.
my $all = press(post('key=lisa')->body, 'Ban');
is line($all), 'Banned. Under 3 limits.', 'all limits of a key';
is kind(), 'ban ban ban', '... are banned';
like $all->body, qr/Undo all/, '... which is undone at once';
press($all->body, 'Undo all');
is kind(), '', '... in all of them';

# Here alone: machines cannot tell one another of a key that none keeps.
get('max', '/m/x') for 1 .. 4;
wait_until { get('max', '/m/x'); (rows('/limits/', 'top') // '') =~ /<th scope="row">m</ } what => 'the rejection';
my ($row) = grep { /<th scope="row">m</ } split /<tr>/, rows('/limits/', 'top');
my $here = press($row, 'Ban');
is line($here), 'Banned. On this machine alone.', 'a ban says that it is of this machine alone';
is line(press($here->body, 'Undo')), 'The override has ended. On this machine alone.', '... and so does its undoing';

# The figures of the last minutes come first on the page.
get('x', '/b/y') for 1 .. 3;
my $page = $nginx->get('/limits/')->body;
like $page, qr{<th scope="col">Limit</th><th scope="col" class="n">Passed in 5 min</th><th scope="col" class="n">Rejected in 5 min</th>}, 'the last minutes come first';
like $page, qr{<th scope="row">b</th><td class="n">3</td><td class="n none">0</td>}, '... of each limit';
like $page, qr{10 per s, burst 20}, 'a burst is shown';
my @parts = $page =~ /<section id="(\w+)"/g;
is_deeply \@parts, [qw(limits top overrides hour requests stores memory)], 'totals come after what is lately';
done;

# Requests whose key is empty are counted for each limit, each line once a request, whichever worker serves it; the page's first lines tell of a limit
# whose last 100 requests had none.

use RateLimit::Test;
use JSON::PP;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    workers => 2, reuseport => 1,
    http    => redis_block('main', $redis),
    server  => 'rate_limit_key $arg_k; location /limits/ { rate_limit_console view; }
        location /core { rate_limit 100000r/h name=core; }
        location /slots { rate_limit_concurrency 9 name=slots; }
        location /redis { rate_limit 9r/h name=redis store=main; }
        location /both { rate_limit 9r/h name=twice; rate_limit 9r/m name=twice key=$arg_k2; rate_limit 9r/h name=other key=$arg_k2; }
        location /variable { rate_limit 9r/h name=variable store=$arg_store; }
        location /report { rate_limit 9r/h name=core; rate_limit_report; }
        location /bypass { rate_limit 9r/h name=core; rate_limit_bypass 1$arg_x; }
        location /late { rate_limit 9r/h name=late phase=precontent; }
        location /to/ { rate_limit 9r/h name=redirected; try_files /none /to/here; location = /to/here { empty_gif; } }
        location /again/ { rate_limit 9r/h name=again; error_page 404 /again/found; location = /again/found { alias %%DIR%%/html/x; } }',
);
my sub told () { return map { ("$_->{name}/$_->{store}" => $_) } @{decode_json($nginx->get('/limits/json')->body)->{limits}} }
my sub notes () { return map { s/<[^>]*>//gr } $nginx->get('/limits/')->body =~ m{<ul class="notes">(.*?)</ul>}s }

my %told = told();
is_deeply [map { $_->{no_key} } values %told], [(0) x keys %told], 'none at first';

$nginx->get($_) for map { ($_) x 5 } '/core', '/core?k=', '/core?k=a', '/slots', '/redis', '/late', '/variable', '/variable?store=main', '/variable?store=local&k=a', '/report', '/bypass';
$nginx->get('/both') for 1 .. 3;
$nginx->get('/both?k=a') for 1 .. 4;
$nginx->get('/both?k2=a') for 1 .. 6;
$nginx->get('/to/x') for 1 .. 2;
$nginx->get('/again/x') for 1 .. 2;
%told = told();
my sub is_told ($limit, $no_key, $what) { return is $told{$limit}{no_key}, $no_key, $what }
is_told('core/local',       10, 'of a limit: not of a report, nor where it is bypassed');
is_told('slots/local',      5,  'of running requests');
is_told('redis/main',       5,  'of a Redis store');
is_told('late/local',       5,  'of the precontent phase');
is_told('twice/local',      3 + 3 + 4 + 6, 'of each line of one name');
is_told('other/local',      3 + 4,  'of each limit');
is_told('variable/*',       10, 'of a variable store, which nobody asks for');
is_told("variable/$_",      0,  "... not of $_") for qw(main local);
is_told('redirected/local', 2,  'once, though a redirect leads to a location that inherits the line');
is_told('again/local',      2,  '... also by an error page');
is_deeply [$redis->keys], [], 'no store was asked';

my $metrics = $nginx->get('/limits/metrics')->body;
like $metrics, qr/^# TYPE nginx_rate_limit_no_key_total counter$/m, 'metrics have it';
like $metrics, qr/^nginx_rate_limit_no_key_total\{limit="core",store="local"\} 10$/m, '... as JSON';

# 100 in a row, of all workers.
my $note = qr/Limit core \(store local\) limits nobody: the key of its last 100 requests was empty\./;
unlike join(' ', notes()), qr/limits nobody: the key/, 'less than 100 in a row are not told';
$nginx->get('/core?k=a');
$nginx->get('/core') for 1 .. 99;
unlike join(' ', notes()), $note, '99 in a row';
$nginx->get('/core');
like join(' ', notes()), $note, '100 in a row are told';
$nginx->get('/core') for 1 .. 20;
like join(' ', notes()), $note, '... and more';
$nginx->reload;
like join(' ', notes()), $note, '... over a reload';
$nginx->get('/core?k=a');
unlike join(' ', notes()), $note, 'a key ends it, whichever worker sees it';
%told = told();
is_told('core/local', 10 + 120, 'all are counted, over the reload');

done;

# Keys may be any bytes: JSON stays JSON, the page stays the page, and both show them as UTF-8, other bytes, controls and the percent sign as %XX; of a key above 128
# bytes only the beginning, and says so. The metrics have no trace of them.

use utf8;
use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(server => 'add_header X-Id $rate_limit_id always;
    location /limits/ { rate_limit_console view keys=plain; }
    location /k { rate_limit_key $uri; rate_limit 0r/s name=uri; }
    location /binary { rate_limit_key $rate_limit_binary_addr; rate_limit 0r/s name=binary; }');

my %shown = (
    '/k%22'      => '/k"',   '/k%5C'       => '/k\\',  '/k%3Cscript%3E' => '/k<script>', '/k%0Ax'    => '/k%0Ax', '/k%ffx'  => '/k%FFx',
    '/k%25'      => '/k%25', '/k%C3%A9'    => '/ké',   '/k%C3'          => '/k%C3',      '/k%7F%1b'  => '/k%7F%1B', '/k%E2%80%AE' => '/k%E2%80%AE',
    '/k' . 'x' x 126 => '/k' . 'x' x 126, '/k' . 'y' x 300 => '/k' . 'y' x 126, '/k%F0%9F%98%80' => "/k\x{1F600}", '/k</script>&' => '/k</script>&',
    '/binary'    => '%7F%00%00%01',
);
my %id = map { $_ => $nginx->get($_)->header('X-Id') } sort keys %shown;
my $response = $nginx->get('/limits/json');
my $top      = eval { $response->json->{top} };
ok $top, 'it is JSON' or diag $@;
my %key = map { $_->{id} => $_ } @{$top->{keys}};
is $key{$id{$_}}{key}, $shown{$_}, (length > 40 ? substr($_, 0, 40) . '...' : $_) for sort keys %shown;
is_deeply [map { $key{$id{$_}}{key} } grep { $key{$id{$_}}{cut} } sort keys %shown], ['/k' . 'y' x 126], 'one is cut';
unlike $response->body =~ s/\n\z//r, qr/[\x00-\x1f\x7f]/, 'no controls';

my $page = $nginx->get('/limits/')->body;
my sub escaped ($text) { return $text =~ s/&/&amp;/gr =~ s/</&lt;/gr =~ s/>/&gt;/gr =~ s/"/&quot;/gr }
utf8::decode($page);
ok index($page, '<code>' . escaped($shown{$_}) . '</code>' . (length > 200 ? ' … (cut)' : '')) >= 0, 'the page has it as text' for sort keys %shown;
unlike $page, qr/<script|<\/script>/, '... and not as markup';
unlike $page, qr/[\x00-\x09\x0b-\x1f\x7f]/, '... without controls';
my $metrics = $nginx->get('/limits/metrics')->body;
unlike $metrics, qr/\Q$_\E/, 'no trace in the metrics' for '/k', 'script', 'xxxx', '%7F';

done;

# rate_limit_store and store= with variables: the store is chosen for each request; a name that is no
# store's is an error, treated as rate_limit_on_error says.

use RateLimit::Test;

my $east  = RateLimit::Shards->start(1, names => ['e']);
my $west  = RateLimit::Shards->start(1, names => ['w']);
my $nginx = RateLimit::Nginx->start(
    http   => $east->block('east') . $west->block('west') . 'rate_limit_key all;',
    server => 'add_header X-Outcome "$rate_limit_status $rate_limit_shard" always;
        location / { rate_limit_store $arg_store; rate_limit 9r/h; }
        location /line/ { alias %%DIR%%/html/; rate_limit 9r/h name=line store=${arg_store}st; }
        location /deny/ { alias %%DIR%%/html/; rate_limit_store $arg_store; rate_limit 9r/h;
            rate_limit_on_error deny; }',
);

sub status ($uri) { my $r = $nginx->get($uri); return join ' ', $r->status, $r->header('X-Outcome') }

is status('/x?store=east'), '200 PASSED e', 'one store';
is status('/x?store=west'), '200 PASSED w', 'the other' for 1, 2;
is status('/line/x?store=ea'), '200 PASSED e', 'by a part of its name';
is status("/x?store=$_"), '200 ERROR_ALLOWED ', "\"$_\" is no store" for '', 'north', 'LOCAL', 'EAST';
is status('/x?store=local'), '200 PASSED ', 'the memory of this machine is one';
is status("/deny/x?store=$_"), '503 ERROR_DENIED ', "\"$_\" is denied" for '', 'north', 'LOCAL';
is status('/deny/x?store=east'), '200 PASSED e', 'not a store that is there';
ok $nginx->count_log(qr/rate limit "default" in .* could not be checked: invalid store "": it is neither "local" nor/),
    'logged';
$nginx->stop;
is $east->primary->used('all'), 2, 'charges in one';
is $east->primary->used('all', 'line/3600'), 1, 'for the line';
is $west->primary->used('all'), 2, 'and in the other';

done;

# The first line of the page says in words what is wrong, or that nothing is: nodes that are down by name, charges that were lost lately, limits that cannot
# be decided, a zone without room. What was a while ago is not wrong any more.

use RateLimit::Test;

my sub line ($nginx) {
    my ($title) = $nginx->get('/limits/')->body =~ m{<title>(.*?) – rate limits of };
    my ($line)  = $nginx->get('/limits/')->body =~ m{<body>\n<header><div class="health (?:good|bad)"><h1>(.*?)</h1>};
    return $line =~ s/&quot;/"/gr;
}
my sub becomes ($nginx, $pattern, $what, $act = sub { }) {
    my $line;
    my $seen = eval { wait_until { $act->(); ($line = line($nginx)) =~ $pattern } what => $what };
    return ok $seen, "$what: $line";
}

my sub becomes_shown ($nginx, $pattern, $what, $act = sub { }) {
    my $body;
    my $seen = eval { wait_until { $act->(); ($body = $nginx->get('/limits/')->body =~ s{<style>.*?</style>}{}sr) =~ $pattern } what => $what };
    return ok $seen, $what;
}

# Nothing is limited.
my $none = RateLimit::Nginx->start(server => 'location /limits/ { rate_limit_console view; }');
like line($none), qr/^Nothing is limited/, 'nothing is limited';
is_deeply [@{$none->told}{qw(since limits stores zone)}], [undef, [], [], undef], '... as JSON says';
like $none->get('/limits/metrics')->body, qr/^nginx_rate_limit_requests_total\{outcome="passed"\} 0$/m, '... and metrics';

# A healthy system.
my $shards = RateLimit::Shards->start(2, replicas => 1);
my $nginx  = RateLimit::Nginx->start(
    clock  => 1,
    http   => $shards->block('main', 'check_timeout 9s; connect_timeout 9s; charge_timeout 2s;')
        . 'rate_limit_key $arg_k; rate_limit_on_error local;',
    server => 'location /limits/ { rate_limit_console view; } location /a { rate_limit 100000r/h name=core store=main mode=charge_refund; }
        location /dry { rate_limit 1r/h name=new dry_run=on; } location /brief { rate_limit 100000r/2s name=brief store=main; }',
);
my sub ask ($uri, $count = 20) { $nginx->get("$uri?k=" . rand) for 1 .. $count; return }
ask('/a');
is line($nginx), 'Nothing is wrong.', 'nothing is wrong';
like $nginx->get('/limits/')->body, qr/class="health good".*1 limit rejects nobody: a dry run\./s, '... but for what operators should know';

# A primary is stopped, with a charge that it was sent.
my $primary = $shards->primary(0);
my $name    = $primary->address;
wait_until { ask('/brief', 1); $primary->calls('hincrby', 'evalsha') } what => 'charges to reach it';
$primary->freeze;
ask('/brief');
becomes_shown($nginx, qr/\d+ writes? to shard a of store main (?:is|are) in doubt in the last 10 min/i, 'charges are in doubt', sub { ask('/brief', 1) });
$primary->thaw->kill;
becomes_shown($nginx, qr/rimary \Q$name\E of shard a of store main has been down for \d+ s/, 'a primary is down', sub { ask('/a', 5) });
like $nginx->get('/limits/')->body, qr{class="health bad"}, '... which is not good';
becomes($nginx, qr/^Limit core \(store main\) could not be decided for \d+(?:\.\d)?% of its requests in the last 5 min: clients are counted here alone; \d more things? (?:is|are) wrong\.$/,
    'what clients get comes first', sub { ask('/a', 5) });
my ($list) = $nginx->get('/limits/')->body =~ m{<ul class="wrong">(.*?)</ul>}s;
like $list, qr{<li>Primary \Q$name\E of shard a of store main has been down for \d+ s\.}, '... and the rest is listed';
unlike $list, qr/could not be decided/, '... and not the first one again';

# Charges wait, and their windows end meanwhile.
ask('/brief');
my $replica = $shards->replica(1);
$replica->kill;
wait_until { ask('/brief', 5); $nginx->get('/limits/')->body =~ qr{<ul class="wrong">.*<li>Replica \Q@{[$replica->address]}\E of shard b}s } what => 'the replica to be listed';
pass '... and all is listed';

# All come back: what cannot be charged any more expires, which is nothing wrong. A while later nothing is.
let_pass(2.1);
$_->restart for $primary, $replica;
$nginx->wait_log(qr/\[warn\].* charges for primary \Q$name\E of "main" expired: /);
becomes_shown($nginx, qr/\A(?!.*has been down)/s, 'all nodes are up', sub { ask('/a', 5); ask('/brief', 5) });
like line($nginx), qr/: clients are counted here alone; .*; (?:primary|replica) [\d.:]+ of shard [ab] of store main is up again for \d+ s\.$/, '... again, as the first line says';
like $nginx->get('/limits/')->body, qr/in doubt in the last 10 min/, 'what was lost is told for a while';
is $nginx->count_log(qr/were dropped/) + ($nginx->get('/limits/')->body =~ /were dropped in|expired in/ ? 1 : 0), 0, '... but not what expired';
$nginx->travel('+900');
becomes($nginx, qr/^Nothing is wrong\.$/, 'nothing is wrong any more', sub { ask('/a', 1) });
$nginx->stop;

# An attack is told apart from limits that always reject.
my $attacked = RateLimit::Nginx->start(
    clock  => 1,
    http   => 'rate_limit_key $arg_k; rate_limit_log_level info;',
    server => 'location /limits/ { rate_limit_console view; } location /a { rate_limit 20r/h name=a; } location /always { rate_limit 1r/d name=always; }',
);
$attacked->get('/a?k=good') for 1 .. 5;
$attacked->get('/always?k=all') for 1 .. 300;
is line($attacked), 'Nothing is wrong.', 'there was no hour before';
for my $minutes (1, 10) {
    $attacked->travel('+' . 60 * $minutes);
    let_pass(1.1);
}
$attacked->get('/a?k=bad') for 1 .. 40;
$attacked->get('/always?k=all') for 1 .. 60;
is line($attacked), 'Nothing is wrong.', 'a few are no attack, nor is what was always so';
$attacked->get('/a?k=bad') for 1 .. 100;
becomes($attacked, qr/^Limit a \(store local\) rejects 8\d% of its requests in the last 5 min, and rejected none in the hour before\.$/, 'an attack');
$attacked->stop;

# A zone without room.
my $small = RateLimit::Nginx->start(
    http   => 'rate_limit_zone 512k; rate_limit_key $arg_k; rate_limit_log_level info;',
    server => 'location /limits/ { rate_limit_console view; } location /a { rate_limit 10r/h name=a; } location /full { rate_limit 1r/h name=full; }',
);
my sub flood ($uri, @keys) { return $small->parallel(connections => 10, requests => [map { ["$uri?k=$_"] } @keys]) }
is line($small), 'Nothing is wrong.', 'an empty zone';
flood('/a', 1 .. 12000);
becomes_shown($small, qr/(?:room for windows is to \d+(?:\.\d)?% in use|room for windows is full)/, 'a zone that is full');
becomes_shown($small, qr/\d[\d,]* open windows of local limits had to be forgotten for want of room in the last 10 min/, 'windows that were forgotten');
flood('/full', map { "n$_" } 1 .. 12000);
becomes_shown($small, qr/[Tt]he zone was full [\d,]+ times in the last 10 min/, 'windows that found no room');

done;

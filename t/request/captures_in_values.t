# A value of a limit that holds captures of the request and a map has both in their places, whatever expressions the map
# tries: matched or not, with groups or without, named, volatile or kept, before or after the capture.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;

# The value that each has when it is whole, as its two parts; the directives; and what tells that it was.
my %use = (
    key     => ['5', '7',   'rate_limit 9r/h name=key store=main "key=ID/VALUE";',        undef],
    rate    => ['5', '7',   'rate_limit "VALUEr/h" name=rate;',                           'X-RateLimit-Limit', 57],
    burst   => ['5', '7',   'rate_limit 9r/h name=burst "burst=VALUE";',                  'X-RateLimit-Limit', 57],
    cost    => ['5', '7',   'rate_limit 99r/h name=cost "cost=VALUE";',                   'X-RateLimit-Used',  57],
    before  => ['5', '7',   'rate_limit 99r/h name=before mode=lease "cost=VALUE";',      'X-RateLimit-Used',  57],
    number  => ['5', '7',   'rate_limit_concurrency "VALUE";',                            'X-RateLimit-Limit', 57],
    bypass  => ['o', 'ff',  'rate_limit 0r/h name=bypass; rate_limit_bypass "VALUE";',    'X-Status', 'REJECTED'],
    dry_run => ['o', 'ff',  'rate_limit 0r/h name=dry_run "dry_run=VALUE";',              'X-Status', 'REJECTED'],
    store   => ['ma', 'in', 'rate_limit 9r/h name=store "store=VALUE";',                  'X-Status', 'PASSED'],
);
my %map = (
    unmatched       => '"~^(n)(o)$" x; default TEXT;',
    matched         => '"~^(w)(o)(r)(d)$" TEXT;',
    of_no_group     => '"~^word$" TEXT;',
    named           => '"~^(?<other>w)(?<another>.)" TEXT;',
    named_unmatched => '"~^(?<other>n)" x; default TEXT;',
);
my %way = (
    location => ['location ~ ^/ID/(\w+)$ {',                                             '$1'],
    named    => ['location ~ ^/ID/(?<who>\w+)$ {',                                       '${who}'],
    if       => ['location /ID { if ($uri ~ "(f)(/.*)/(\w+)$") { set $nothing 1; }',    '$3'],
    host     => ['location = /ID {',                                                      '$1'],
);
my (%maps, %servers, @cases);
for my $way (sort keys %way) {
    for my $use (sort keys %use) {
        for my $map (sort keys %map) {
            for my $kind ('kept', 'volatile') {
                for my $order ('capture_first', 'map_first') {
                    my ($open, $capture)         = @{$way{$way}};
                    my ($first, $last, $directives, $field, $expected) = @{$use{$use}};
                    my ($captured, $mapped)      = $order eq 'map_first' ? ($last, $first) : ($first, $last);
                    my ($name, $id)              = ("${map}_${kind}_$mapped", "$way/$use/$map/$kind/$order");
                    my $value = $order eq 'map_first' ? "\${$name}$capture" : "$capture\${$name}";
                    $maps{$name} = "map \$http_x_word \$$name { " . ($kind eq 'volatile' && 'volatile; ') . $map{$map} =~ s/TEXT/$mapped/r . '}';
                    $servers{$way eq 'host' ? 'host' : 'other'} .= "$open $directives try_files /x =404; }\n" =~ s/VALUE/$value/r =~ s/ID/$id/gr;
                    push @cases, {id => $id, uri => $way eq 'host' ? "/$id" : "/$id/$captured", host => "$captured.$way", field => $field, expected => $expected};
                }
            }
        }
    }
}
my $nginx = RateLimit::Nginx->start(http => join "\n", redis_block('main', $redis), map({ $maps{$_} } sort keys %maps),
    'rate_limit_key $uri; add_header X-Status $rate_limit_status always; variables_hash_max_size 4096; keepalive_requests 10000;',
    "server { listen 127.0.0.1:%%PORT%% default_server; $servers{other} }",
    "server { listen 127.0.0.1:%%PORT%%; server_name ~^(\\w+)\\.host\$; $servers{host} }");

my $http = $nginx->http;
my (@wrong, %keys);
for my $case (@cases) {
    my $response = $http->get($case->{uri}, Host => $case->{host}, 'X-Word' => 'word');
    my $field    = $case->{field};
    $keys{"rl:key/3600:$case->{id}/57"} = 1 if !defined $field;
    push @wrong, "$case->{id}: " . ($response->header($field) // 'nothing') if defined $field && ($response->header($field) // '') ne $case->{expected};
}
is_deeply \@wrong, [], 'the values of ' . @cases . ' limits';
$nginx->stop;
is_deeply [sort map { s/^rl:store.*//r || () } $redis->keys], [sort keys %keys], 'the keys';

done;

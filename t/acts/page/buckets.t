# The page of a look-up speaks of a bucket where the limit is one, of a window where it is one, and of both where a variable burst makes both.

use RateLimit::Test;

my $redis = RateLimit::Redis->start;
my $nginx = RateLimit::Nginx->start(
    http   => redis_block('main', $redis) . 'rate_limit_key $http_x_key;',
    server => 'location /limits/ { rate_limit_console manage; }
        location /bucket { rate_limit 1r/h burst=9 name=bucket; } location /redis { rate_limit 1r/h burst=9 name=redis store=main; }
        location /window { rate_limit 9r/h name=window; }
        location /both { rate_limit 1r/h burst=$arg_b name=both; }',
);
$nginx->get($_, 'X-Key' => 'mona') for qw(/bucket /redis /window /both /both?b=9);
my sub page ($fields) {
    return $nginx->act($fields, Accept => 'text/html')->body;
}
my sub told ($page) {
    my ($table)    = $page =~ m{(<table id="found-1-windows">.*?</table>)}s or return 'no table';
    my @headings   = $table =~ m{<th scope="col"[^>]*>(.*?)</th>}g;
    my @states     = $table =~ m{</th><td>(.*?)</td>}g;
    my ($caption)  = $table =~ m{<caption[^>]*>(.*?)</caption>};
    my ($of_reset) = $page =~ m{<p>(Gives back all [^<]*)</p>};
    return [$caption, @headings[1, 5], [sort @states], $of_reset];
}

my $bucket = ['Its buckets', 'Bucket', 'Is full', ['a bucket that is not full'], 'Gives back all that is used: the bucket is full then.'];
is_deeply told(page("key=mona&limit=$_")), $bucket, "a bucket: $_" for qw(bucket redis);
is_deeply told(page('key=mona&limit=window')), ['Its windows', 'Window', 'Ends', ['open'], 'Gives back all that is used; the end of the window stays.'], 'a window';
is_deeply told(page('key=mona&limit=both')),
    ['Its windows and buckets', 'Window or bucket', 'Ends, or is full', ['a bucket that is not full', 'open'],
    'Gives back all that is used: a bucket is full then, and the end of a window stays.'], 'both';

for my $limit (qw(bucket redis)) {
    like page("do=reset&key=mona&limit=$limit"), qr/<h1>Reset: all that was used has been given back\./, "a reset: $limit";
    like page("key=mona&limit=$limit"), qr/a full bucket|nor a bucket that is not full: nothing is used/, '... fills it';
    is limits($nginx->get("/$limit", 'X-Key' => 'mona'))->{used}, 1, '... as the client sees';
}

done;

# What a later version will take is refused as "not available yet", by the word and the directive that has it: parameters, variables.

use RateLimit::Test;

my $listen = 'listen unix:%%DIR%%/socket; rate_limit_key $arg_k;';
my sub later ($text, $word, $directive) {
    return refuses("$text;", $text, qr/"\Q$word\E" in "\Q$directive\E" is not available yet: remove it in /);
}
later("rate_limit 1r/s $_", $_, 'rate_limit') for 'penalty=1h', 'penalty=5';
refuses("rate_limit_concurrency 1 $_;", "rate_limit_concurrency 1 $_", qr/unknown parameter "$_" in "rate_limit_concurrency"/) for 'penalty=1s';

# In rate_limit_redis.
for my $line ('here eu;', 'region eu;', "region eu { shard a primary=127.0.0.1:1; }") {
    my ($word) = split / /, $line;
    my ($code, $output) = RateLimit::Nginx->test_config("rate_limit_redis main { shard a primary=127.0.0.1:1; $line }");
    is $code, 1, "refused: $line";
    is scalar(() = $output =~ /^nginx: .*"$word" in "rate_limit_redis" is not available yet: remove it in /mg), 1, '... and told once' or diag $output;
}

# Variables: used anywhere, unless the configuration defines them.
for my $name (qw(penalty)) {
    for my $use ("add_header X \$rate_limit_$name", "rate_limit 1r/s key=\$rate_limit_$name") {
        my ($code, $output) = RateLimit::Nginx->test_config("server { $listen location / { $use; } }");
        is $code, 1, "refused: $use";
        like $output, qr/the variable "\$rate_limit_$name" is not available yet: remove it/, '... as not available yet';
    }
}
accepts_quietly("map \$arg_a \$rate_limit_penalty { default a; } server { $listen add_header X \$rate_limit_penalty; }", 'a variable that a map defines');
my ($code, $output) = RateLimit::Nginx->test_config("server { $listen add_header X \$rate_limit_other; }");
like $output, qr/unknown "rate_limit_other" variable/, 'another name is unknown';

done;

# Directives of rate_limit_redis that a later version will take are refused as "not available yet".

use RateLimit::Test;

for my $line ('here eu;', 'region eu;', "region eu { shard a primary=127.0.0.1:1; }") {
    my ($word) = split / /, $line;
    my ($code, $output) = RateLimit::Nginx->test_config("rate_limit_redis main { shard a primary=127.0.0.1:1; $line }");
    is $code, 1, "refused: $line";
    is scalar(() = $output =~ /^nginx: .*"$word" in "rate_limit_redis" is not available yet: remove it in /mg), 1, '... and told once' or diag $output;
}

done;

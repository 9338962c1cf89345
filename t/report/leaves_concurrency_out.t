# The report has no limits of running requests; where there are no others, it says that nothing is limited.

use RateLimit::Test;
use JSON::PP;

my $nginx = RateLimit::Nginx->start(
    server => 'rate_limit_key $arg_k;
        location = /both { rate_limit_report; rate_limit 5r/h name=core; rate_limit_concurrency 3; }
        location = /alone { rate_limit_report; rate_limit_concurrency 3; }
        location = /several { rate_limit_report; rate_limit 5r/h name=core; rate_limit_concurrency 3; rate_limit_concurrency 4 key=$arg_other; }',
);
my $both = $nginx->get('/both?k=a');
is $both->status, 200, 'beside a rate';
is_deeply [keys %{decode_json($both->body)->{resources}}], ['core'], '... that is told alone';
is $nginx->get('/alone?k=a')->status, 404, 'without one';
is $nginx->get('/several?k=a')->status, 200, 'several of one name, which it does not show';

done;

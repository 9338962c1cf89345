# A limit does not apply where the variable of its rate, of its burst or of its number of running requests is empty or `off`; an empty burst, however,
# makes the limit a window. A burst of 0 is an error of the value.

use RateLimit::Test;

my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_key $arg_k; rate_limit_on_error deny; log_format told "$rate_limit_all";',
    server => 'access_log %%DIR%%/told told; location /rate/ { alias %%DIR%%/html/; rate_limit $arg_v; }
        location /burst/ { alias %%DIR%%/html/; rate_limit 1r/h burst=$arg_v name=burst; }
        location /none/ { alias %%DIR%%/html/; rate_limit 0r/h burst=$arg_v; }
        location /both/ { alias %%DIR%%/html/; rate_limit $arg_r burst=$arg_v; }
        location /slots/ { alias %%DIR%%/html/; rate_limit_concurrency $arg_v; }
        location /beside/ { alias %%DIR%%/html/; rate_limit $arg_v name=a; rate_limit 9r/h burst=$arg_v name=b; rate_limit 9r/h name=c; }',
);
my sub status ($uri) { return map { $nginx->get("$uri&k=a")->status } 1 .. 3 }
is_deeply [status('/rate/x?v=1r/h')], [200, 429, 429], 'a rate';
is_deeply [status("/rate/x?v=$_")], [200, 200, 200], "a rate of \"$_\": no limit" for 'off', '';
is_deeply [status("/rate/x?v=$_")], [503, 503, 503], "a rate of \"$_\" is none" for 'on', 'Off', '0';
is_deeply [status('/burst/x?v=2')], [200, 200, 429], 'a burst';
is_deeply [status('/burst/x?v=off')], [200, 200, 200], 'a burst of "off": no limit';
is_deeply [status('/burst/x?v=')], [200, 429, 429], 'an empty burst: a window counts';
is_deeply [status("/burst/x?v=$_")], [503, 503, 503], "a burst of \"$_\" is an error of the value" for '0', '00', 'Off', '-1';
is_deeply [status('/none/x?v=off')], [200, 200, 200], '... also where the rate is 0';
is_deeply [status('/none/x?v=2')], [429, 429, 429], 'a rate of 0 rejects';
is_deeply [status("/both/x?$_")], [200, 200, 200], "both variables: $_" for 'r=off&v=2', 'r=1r/h&v=off', 'r=off&v=off', 'r=off&v=0';
is_deeply [status("/slots/x?v=$_")], [200, 200, 200], "a number of \"$_\": no limit" for 'off', '';
is_deeply [status('/slots/x?v=0')], [429, 429, 429], '0 requests may run';
is_deeply [status('/beside/x?v=off')], [200, 200, 200], 'other limits go on';
ok $nginx->count_log(qr/could not be checked: invalid burst "0": a burst is a whole number from 1 to 1000000000000/), 'a burst of 0 is logged';
$nginx->stop;
is +($nginx->lines('told'))[-1], 'c=PASSED:3/9', 'limits that do not apply are not told';

done;

# A hundred thousand requests that had a slot when their clients went away leak none: the test of aborted requests, for half a minute or more.
# nightly

use RateLimit::Test;

$ENV{ABORTED} = 100_000;
do(project_path('t/concurrency/aborted_requests.t')) or die $@ || $!;

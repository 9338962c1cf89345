# Variables of one limit by its name: what each says, of limits that pass, reject, were not decided or did not apply; and the two of the
# limit that is shown.

use RateLimit::Test;

my @attributes = qw(limit used remaining reset reset_after retry_after status);
sub fields ($name) { return join ' ', map { "add_header X-$_-$name \$rate_limit_${_}_$name always;" =~ s/(?<=X-)\S+/$&/r } @attributes }

my $nginx = RateLimit::Nginx->start(
    http   => 'rate_limit_key $http_x_key; rate_limit_headers ietf; log_format shown "$rate_limit_reset_after,$rate_limit_retry_after";
        rate_limit_redis gone { shard g primary=127.0.0.1:%%PORT_1%%; }',
    server => 'access_log %%DIR%%/shown shown; location / { root %%DIR%%/html; error_page 404 =200 @here;
            rate_limit 3r/h name=a-B.c; rate_limit 100r/m name=reset; rate_limit 2r/h name=x key=$http_x_other;'
        . join(' ', map { fields($_) } qw(a_b_c reset x)) . '
        }
        location @here { ' . join(' ', map { fields($_) } qw(a_b_c reset x)) . ' return 200; }
        location /upper { rate_limit 3r/h name=Up; rate_limit 0r/h name=up2; add_header X-A $RATE_LIMIT_LIMIT_UP always; }
        location /same { rate_limit 5r/h name=twice; rate_limit 2r/m name=twice; add_header X-A "$rate_limit_limit_twice $rate_limit_used_twice" always; try_files /none =404; }
        location /deny { rate_limit 3r/h name=denied store=gone; rate_limit_on_error deny;
            add_header X-A "$rate_limit_status_denied,$rate_limit_limit_denied,$rate_limit_retry_after_denied,$rate_limit_retry_after" always; }',
);

sub got ($response, $name) { return {map { ($_ => $response->header("X-$_-$name") // '') } @attributes} }
sub ask ($uri, @headers) {
    my $before = time;
    my $response = $nginx->get($uri, 'X-Key' => 'k', @headers);
    return ($response, $before);
}

my ($first, $at) = ask('/x');
my $got = got($first, 'a_b_c');
is_deeply [@$got{qw(limit used remaining retry_after status)}], [3, 1, 2, '', 'PASSED'], 'a limit';
ok $got->{reset} - $at >= 3600 && $got->{reset} - $at <= 3602, 'its reset is of the epoch';
ok $got->{reset_after} >= 3599 && $got->{reset_after} <= 3600, '... and in seconds';
is_deeply [@{got($first, 'reset')}{qw(limit used reset_after)}], [100, 1, 60], 'another one, whose name is that of an attribute';
is_deeply got($first, 'x'), {map { ($_ => '') } @attributes}, 'one that did not apply';
like +($nginx->lines('shown'))[0], qr/^(?:3600|3599|60|59),-$/, 'of the limit that is shown';

ask('/x', 'X-Other' => 'o') for 1, 2;
my ($rejected) = ask('/x', 'X-Other' => 'o');
is $rejected->status, 429, 'two of them reject';
is_deeply [@{got($rejected, 'a_b_c')}{qw(remaining status)}], [0, 'REJECTED'], 'the first';
is got($rejected, 'a_b_c')->{retry_after}, $rejected->header('Retry-After'), '... says when to come again';
is got($rejected, 'reset')->{retry_after}, '', 'which one that does not reject does not';
my @last = split /,/, ($nginx->lines('shown'))[-1];
is $last[1], $rejected->header('Retry-After'), 'the header says so, too';

is +(ask('/upper'))[0]->header('X-A'), 3, 'case is ignored';
is +(ask('/same'))[0]->header('X-A'), '2 1', 'of two of one name the one that would be shown';
my ($denied) = ask('/deny');
is $denied->header('X-A'), "ERROR_DENIED,,,1", 'a limit that could not be checked';
is $denied->header('Retry-After'), 1, '... as the header says';

done;

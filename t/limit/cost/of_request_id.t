# A cost that depends on $request_id: the request has one id, for what is charged before and after it and for everything else.

use RateLimit::Test;

my @modes = qw(check_charge charge_refund lease);
my $nginx = RateLimit::Nginx->start(
    http => 'map $request_id $cost { ~^[0-7] 1; default 100; }
        log_format id $request_id; rate_limit_key all;',
    server => 'access_log %%DIR%%/ids id; add_header X-Id $request_id;'
        . join('', map { "location /$_ { alias %%DIR%%/html/x; rate_limit 1000000r/d name=$_ mode=$_ cost=\$cost; }" } @modes),
);
my @ids;
for my $mode (@modes) {
    my ($used, @charged, @due) = 0;
    for (1 .. 30) {
        my $response = $nginx->get("/$mode");
        my $now      = limits($response)->{used};
        push @charged, $now - $used;
        push @ids,     $response->header('X-Id');
        push @due,     $ids[-1] =~ /^[0-7]/ ? 1 : 100;
        $used = $now;
    }
    is "@charged", "@due", "$mode: what the id costs";
}
$nginx->stop;
is_deeply [$nginx->lines('ids')], \@ids, 'the access log';

done;

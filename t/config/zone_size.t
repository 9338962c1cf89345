# rate_limit_zone: one size, of 128k or more, at the http level.

use RateLimit::Test;

my $size = qr/in "rate_limit_zone": it is a number of bytes, at least 128k/;
refuses("rate_limit_zone $_;", "rate_limit_zone $_", qr/invalid size "\Q$_\E" $size/)
    for qw(0 1 64k 127k 131071 -1 -10m +10m 10mb 10x m 1.5m 10m5 auto off 99999999999999999999 9999999999999g);
refuses('rate_limit_zone "";', 'rate_limit_zone', qr/invalid size "" $size/);
accepts("rate_limit_zone $_;") for qw(128k 131072 130K 1m 10M 200000);
refuses("rate_limit_zone $_;", 'rate_limit_zone', qr/invalid number of arguments in "rate_limit_zone" directive/)
    for '', '1m 2m';
refuses('rate_limit_zone 1m; rate_limit_zone 1m;', 'rate_limit_zone', qr/"rate_limit_zone" directive is duplicate/);
refuses("server { listen unix:%%DIR%%/socket; $_ }", 'rate_limit_zone',
    qr/"rate_limit_zone" directive is not allowed here/)
    for 'rate_limit_zone 1m;', 'location / { rate_limit_zone 1m; }';

done;

# rate_limit_bypass takes variables, or off, 0 or "" alone; another constant would bypass everything, and is refused with
# what to write.

use RateLimit::Test;

for my $network ('10.0.0.0/8', '127.0.0.1', '2001:db8::/32', '::1') {
    my $remedy = qr/write "geo \$free \{ default 0; \Q$network\E 1; \}" in "http", and "rate_limit_bypass \$free" here/;
    refuses("rate_limit_bypass $_;", "rate_limit_bypass $_",
        qr/the network "\Q$network\E" in "rate_limit_bypass" would bypass every limit for all clients: $remedy/)
        for $network, "$network 192.168.0.0/16", "\$arg_a $network";
}
refuses("rate_limit_bypass $_;", "rate_limit_bypass $_",
    qr/the constant "\Q$_\E" in "rate_limit_bypass" would bypass every limit .*: write a variable, .* or "rate_limit off"/)
    for 'on', '1', 'yes', 'remote_addr', '00', 'Off';

my $beside = qr/stands beside other values in "rate_limit_bypass": keep only variables, or "off" alone/;
refuses("rate_limit_bypass $_->[0];", "rate_limit_bypass $_->[0]", qr/the constant "$_->[1]" $beside/)
    for ['off $arg_a', 'off'], ['$arg_a 0', '0'], ['$arg_a "" $arg_b', ''], ['off off', 'off'], ['"" 0', ''];
refuses("rate_limit_bypass \$arg_a\nreturn 403;", 'return 403',
    qr/the constant "return" $beside; is a ";" missing before it\?/, 'a missing semicolon');

# The form that the error message shows is accepted.
accepts('geo $free { default 0; 10.0.0.0/8 1; } server { listen unix:%%DIR%%/socket; rate_limit_bypass $free; }');
accepts("rate_limit_bypass \$arg_a; server { listen unix:%%DIR%%/socket; rate_limit_bypass $_; }") for 'off', '0', '""';

done;

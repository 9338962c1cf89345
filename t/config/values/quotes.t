# nginx takes quotes off a word only where the word begins with them: NAME="VALUE" is refused with how to write it.

use RateLimit::Test;

sub quoted ($text, $word, $remedy, $before = '', $after = '') {
    my ($directive) = $text =~ /^(\w+)/;
    refuses("$before$text;$after", $text,
        qr/the quotes of "\Q$word\E" in "$directive" would be part of the value: quote the whole word, \Q$remedy\E in/, $text);
    return;
}

quoted("rate_limit 5r/s $_->[0]", $_->[0], $_->[1]) for
    ['key="$arg_k"', '"key=$arg_k"'], [q(key='$arg_k'), q('key=$arg_k')], ['key=""', '"key="'], ['key="', '"key= ..."'],
    ['name="a"', '"name=a"'], ['cost="$arg_c"', '"cost=$arg_c"'], ['store="main"', '"store=main"'], ['dry_run="on"', '"dry_run=on"'],
    ['exempt="304"', '"exempt=304"'], ['mode="lease"', '"mode=lease"'], ['burst="5"', '"burst=5"'];
quoted('rate_limit 5r/s key="$arg_k $arg_l"', 'key="$arg_k', '"key=$arg_k ..."');
quoted("shard a $_->[0]", $_->[0], $_->[1], 'rate_limit_redis main { ', ' }') for
    ['primary="127.0.0.1:1"', '"primary=127.0.0.1:1"'], [q(replica='127.0.0.1:1'), q('replica=127.0.0.1:1')], ['weight="1"', '"weight=1"'];

# The form that the error message shows is accepted, and so are quotes within a value.
accepts("server { listen unix:%%DIR%%/socket; location / { rate_limit 5r/s $_; } }", $_)
    for '"key=$arg_k"', q('key=$arg_k'), '"key=$arg_k $arg_l"', 'key=$arg_k"$arg_l"', 'key=$arg_k\'';
accepts('rate_limit_redis main { shard a "primary=127.0.0.1:1" \'replica=127.0.0.1:2\' "weight=1"; }');

done;

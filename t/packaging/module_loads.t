# nginx takes the module, alone and with a server.

use RateLimit::Test;

my ($code, $output) = RateLimit::Nginx->test_config(http => '');
is $code, 0, 'nginx -t with the module' or diag $output;

my $nginx = RateLimit::Nginx->start(server => 'location / { return 204; }');
shows $nginx->get('/'), 204, {}, 'a server without a limit answers, and shows none';

done;

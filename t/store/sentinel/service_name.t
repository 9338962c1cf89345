# A name with several addresses leads to as many sentinels: all are asked, and more than half of them have to agree.

use RateLimit::Test;

# This resolver answers for one name in place of the system's, when nginx reads its configuration.
my $folder = test_folder();
write_text("$folder/names.c", <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
int getaddrinfo(const char* node, const char* service, const struct addrinfo* hints, struct addrinfo** found) {
    int (*real)(const char*, const char*, const struct addrinfo*, struct addrinfo**) = dlsym(RTLD_NEXT, "getaddrinfo");
    const char* addresses[] = {"127.0.0.2", "127.0.0.3", "127.0.0.4"};
    if (node == 0 || strcmp(node, "sentinels.test") != 0) return real(node, service, hints, found);
    for (int i = 0; i < 3; ++i, found = &(*found)->ai_next) {
        int error = real(addresses[i], service, hints, found);
        if (error != 0) return error;
    }
    return 0;
}
C
is system("cc -shared -fPIC -o '$folder/names.so' '$folder/names.c' -ldl"), 0, 'the names are compiled';

my ($old, $new) = map { RateLimit::Redis->start } 1 .. 2;
my @primary = map { '127.0.0.1 ' . $_->port . ' 0' } $old, $new;
my $port  = free_port();
my @hosts = map { "127.0.0.$_" } 2 .. 4;
my @sentinels = map {
    my $host = $_;
    RateLimit::FakeRedis->start(host => $host, port => $port, handler => watching,
        state => {primary => $primary[0], others => join ' ', map { "$_:$port" } grep { $_ ne $host } @hosts})
} @hosts;
my $nginx = RateLimit::Nginx->with_limit('1000r/h', "rate_limit_redis main { sentinel sentinels.test:$port; shard a master=m; check_timeout 2s; }",
    key => 'k', env => {LD_PRELOAD => "$folder/names.so"});
wait_until { 3 == grep { $_->commands('sentinel') } @sentinels } what => 'all of them to be asked';

my sub rounds ($count) {
    my @until = map { scalar($_->commands('sentinel')) + 2 * $count } @sentinels;
    return wait_until { !grep { $sentinels[$_]->commands('sentinel') < $until[$_] } 0 .. 2 } what => "$count rounds";
}
$sentinels[0]->set(primary => $primary[1]);
rounds(4);
is $nginx->count_log(qr/before it was/), 0, 'one of three is not believed';
$sentinels[1]->set(primary => $primary[1]);
$nginx->wait_log(qr/sentinels name \Q${\ $new->address}\E as the primary/);
pass 'two of three are';

done;

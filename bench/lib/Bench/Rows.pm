package Bench::Rows;

# The servers that are compared: one nginx each, with one worker on a core of its own, over the same shard.

use strict;
use warnings;
use feature 'signatures';

use Exporter 'import';
use RateLimit::Nginx;

our @EXPORT = qw(row_names compared_names start_row start_again title_of);

# No run reaches LIMIT. A flood over FLOOD_KEYS reaches its limit at once: then hardly any request is asked about.
use constant LIMIT      => 100_000_000;
use constant FLOOD_KEYS => 10;

# The rate refills the whole bucket within a second, so the bucket is full again before the next request.
use constant REFILLED => ('10000000r/s', 10_000_000);

my %title = (
    bare       => 'bare nginx',
    add_header => 'five constant `add_header`',
    four_headers => 'four constant `add_header`, without a reset',
    limit_req  => '`limit_req`',
    lua        => 'the same in Lua',
    local      => 'this module, `local`',
    module     => 'this module',
    checks     => 'this module, `fresh off`',
    tls        => 'this module, `fresh off`, over TLS',
    refund     => 'this module, `charge_refund`',
    lease      => 'this module, `lease`',
    bucket       => 'this module, a bucket in Redis',
    full_bucket  => 'this module, a bucket in Redis that is full each time',
    local_bucket => 'this module, a bucket in `local`',
    lease_bucket => 'this module, a bucket in `lease`',
    slots        => 'this module, `rate_limit_concurrency` in Redis',
    local_slots  => 'this module, `rate_limit_concurrency` in `local`',
    bare_429   => 'bare 429, six constant `add_header`',
    rejected   => 'this module, rejected',
);

my @of_module = qw(local module checks tls refund lease rejected bucket full_bucket local_bucket lease_bucket slots local_slots);

# Those of which another build's stand beside them, as NAME_before.
sub compared_names () { return grep { $_ ne 'tls' } @of_module }

# Those that are measured unless told otherwise: tls is for bench/tls.
sub row_names () {
    my @before = $ENV{OTHER_MODULE} ? map { "${_}_before" } compared_names() : ();
    return (qw(bare add_header limit_req lua local local_bucket four_headers local_slots module checks refund bucket full_bucket lease lease_bucket slots bare_429 rejected), @before);
}

sub title_of ($name) { return $title{$name} }

my @constant_headers = ('X-RateLimit-Limit 100000000', 'X-RateLimit-Used 4', 'X-RateLimit-Remaining 99999996',
    'X-RateLimit-Reset 1737000000', 'X-RateLimit-Resource core');
my @rejecting_headers = ('X-RateLimit-Limit 1', 'X-RateLimit-Used 1', 'X-RateLimit-Remaining 0',
    'X-RateLimit-Reset 1737000000', 'X-RateLimit-Resource flood', 'Retry-After 3599');

my %settings = (
    bare       => sub (%) { (module => undef, server => 'location / { }') },
    add_header => sub (%) {
        return (module => undef, server => location(map { "add_header $_;" } @constant_headers));
    },
    four_headers => sub (%) {
        return (module => undef, server => location(map { "add_header $_;" } grep { !/Reset/ } @constant_headers));
    },
    limit_req  => sub (%) {
        return (
            module => undef,
            http   => 'limit_req_zone $arg_k zone=keys:10m rate=100000r/s;',
            server => 'location / { limit_req zone=keys burst=100000 nodelay; }',
        );
    },
    lua      => \&lua,
    local    => sub (%) { (server => limited(LIMIT, 'core', 'local')) },
    module   => sub (%with) {
        return (http => block(%with), server => limited(LIMIT, 'core', 'main'));
    },
    checks   => sub (%with) {
        return (http => block(%with, options => 'check_timeout 5s; fresh off;'), server => limited(LIMIT, 'checks', 'main'));
    },
    tls      => sub (%with) {
        my $block = block(%with, options => "check_timeout 5s; fresh off; ssl on; ssl_trusted_certificate $with{authority};");
        $block =~ s/:@{[$_->port]}\b/:@{[$_->tls_port]}/ for $with{shards}->all;
        return (http => $block, server => limited(LIMIT, 'tls', 'main'));
    },
    refund   => sub (%with) {
        return (
            http   => block(%with) . 'rate_limit_mode charge_refund;',
            server => limited(LIMIT, 'refund', 'main'),
        );
    },
    bucket       => sub (%with) { (http => block(%with), server => bucket('1r/s', 80_000, 'store=main name=bucket')) },
    full_bucket  => sub (%with) { (http => block(%with), server => bucket(REFILLED, 'store=main name=full')) },
    local_bucket => sub (%) { (server => bucket(REFILLED, 'name=bucket')) },
    slots        => sub (%with) { (http => block(%with), server => slots('main')) },
    local_slots  => sub (%) { (server => slots('local')) },
    # Each key's tokens need a note in the zone; at the end of a turn all go back at once.
    lease    => sub (%with) {
        return (
            http   => block(%with, options => 'check_timeout 5s;') . 'rate_limit_mode lease; rate_limit_zone 32m;',
            server => limited(LIMIT, 'lease', 'main'),
        );
    },
    lease_bucket => sub (%with) {
        return (
            http   => block(%with, options => 'check_timeout 5s;') . 'rate_limit_mode lease; rate_limit_zone 32m;',
            server => bucket(REFILLED, 'store=main name=leased'),
        );
    },
    bare_429 => sub (%) {
        return (
            module => undef,
            server => location((map { "add_header $_ always;" } @rejecting_headers), 'return 429;'),
        );
    },
    rejected => sub (%with) { (http => block(%with), server => limited(1, 'flood', 'main')) },
);

my %prefix = (
    lua      => 'lua:core/3600:',
    module   => 'rl:core/3600:',
    checks   => 'rl:checks/3600:',
    tls      => 'rl:tls/3600:',
    refund   => 'rl:refund/3600:',
    lease    => 'rl:lease/3600:',
    rejected => 'rl:flood/3600:',
    bucket   => 'rl:bucket/1b:',
    full_bucket => 'rl:full/1b:',
    lease_bucket => 'rl:leased/1b:',
    slots    => 'rl:slots/n:',
);

# The two builds count in keys of their own.
sub block (%with) {
    my $block = $with{shards}->block('main', $with{options} // ());
    return $with{before} ? $block =~ s/\{/{ prefix old:;/r : $block;
}

sub location (@lines) {
    return "location / { @lines }";
}

sub limited ($limit, $name, $store) {
    return location('rate_limit_key $arg_k;', "rate_limit ${limit}r/h name=$name store=$store;");
}

# The bucket never runs short.
sub bucket ($rate, $burst, $where) {
    return location('rate_limit_key $arg_k;', "rate_limit $rate burst=$burst $where;");
}

sub slots ($store) {
    return location('rate_limit_key $arg_k;', "rate_limit_concurrency 1000 name=slots store=$store;");
}

# The default 256 running timers would lose charges; each one takes a connection of worker_connections.
sub lua (%with) {
    my ($root, $shards, $bench) = @with{qw(packages shards bench)};
    my @ports = map { sprintf '{primary = %d, replica = %d}', $shards->primary($_)->port, $shards->replica($_, 0)->port }
        0 .. $shards->names - 1;
    my ($modules) = glob "$root/usr/lib/nginx/modules";
    my ($library) = glob "$root/usr/lib/*/libluajit-5.1.so.2";
    $library =~ s{/[^/]+$}{};
    my $http = join "\n", "lua_package_path '$bench/?.lua;$root/usr/share/lua/5.1/?.lua;;';",
        'lua_max_running_timers 8192;', 'lua_max_pending_timers 8192;', 'lua_socket_log_errors off;',
        'init_by_lua_block {', 'require("limiter").configure {',
        'shards = {' . join(', ', @ports) . '},',
        sprintf('limit = %d, script = "%s/../lua/charge.lua" }', LIMIT, $bench), '}';
    return (
        module => undef,
        env    => {LD_LIBRARY_PATH => $library},
        main   => "load_module $modules/ndk_http_module.so;\nload_module $modules/ngx_http_lua_module.so;",
        http   => $http,
        server => join "\n", 'location / {', 'access_by_lua_block { require("limiter").check() }',
            'header_filter_by_lua_block { require("limiter").headers() }',
            'log_by_lua_block { require("limiter").log() }', '}',
    );
}

sub start_row ($name, %with) {
    my ($kind, $before) = $name =~ /^(\w+?)(_before)?$/;
    my %settings = $settings{$kind}->(%with, before => $before);
    my $prefix   = $prefix{$kind};
    $prefix =~ s/^rl:/old:/ if $prefix && $before;
    my %nginx = (
        %settings,
        $before ? (module => $with{other_module} || die "$name needs OTHER_MODULE\n") : (),
        main      => join("\n", $settings{main} // '', pinned($with{core})),
        events    => 'worker_connections 16384;',
        http      => "keepalive_requests 1000000000;\n" . ($settings{http} // ''),
        log_level => 'error',
    );
    return start_again({
        name => $name, title => $title{$kind} . ($before ? ', before' : ''), settings => \%nginx,
        primary => $prefix ? [$with{shards}->primaries] : [],
        replica => $prefix ? [map { $with{shards}->replicas($_) } 0 .. $with{shards}->names - 1] : [],
        prefix => $prefix, admitted => 0, leases => scalar($kind =~ /^lease/),
        of_module => scalar $name =~ /^(?:module|checks|tls|refund|bucket|full_bucket|lease|lease_bucket|slots|rejected)$/,
        $name =~ /429|rejected/
        ? (keys => FLOOD_KEYS, expects => 'rejected', base => 'bare_429')
        : (keys => $with{keys}, expects => 'admitted', base => 'bare'),
    });
}

sub start_again ($row) {
    $row->{nginx} = RateLimit::Nginx->start(%{$row->{settings}});
    ($row->{worker}) = $row->{nginx}->workers;
    return $row;
}

sub pinned ($core) {
    return defined $core ? 'worker_cpu_affinity 1' . '0' x $core . ';' : '';
}

1;

package RateLimit::Test;

=head1 NAME

RateLimit::Test - tests of the module with real nginx and real Redis

=head1 SYNOPSIS

    use RateLimit::Test;        # strict, warnings, signatures, Test::More and everything below

    my $shards = RateLimit::Shards->start(2, replicas => 1);
    my $nginx  = RateLimit::Nginx->start(
        http   => $shards->block('main'),
        server => 'location / { rate_limit_key $http_x_key; rate_limit 5r/m store=main; }',
    );

    my $r = $nginx->get('/', 'X-Key' => 'alice');
    is $r->status, 200;
    is limits($r)->{remaining}, 4;

    my $count = statuses($nginx->parallel(connections => 50, requests => 500, uri => '/'));
    wait_until { $shards->find('rl:default/60:alice') } what => 'the charge';

    done;

=head1 DESCRIPTION

C<done> stops every nginx gracefully, fails the test when an error log has C<[alert]>, C<[emerg]>,
C<[crit]>, a death by signal or a sanitizer's report that C<expect_log> did not announce, ends all other
processes and calls C<done_testing>. A test that ends without it fails. Processes never outlive a test,
and its one temporary folder goes too.

The other modules say at their top what they offer: L<RateLimit::Nginx>, L<RateLimit::Redis>,
L<RateLimit::Shards>, L<RateLimit::Sentinels>, L<RateLimit::Cluster>, L<RateLimit::HTTP>, L<RateLimit::Response>, L<RateLimit::Load>,
L<RateLimit::Backend>, L<RateLimit::Busy>, L<RateLimit::Certificates>, L<RateLimit::FakeRedis>, L<RateLimit::Model>, L<RateLimit::Proxy>, L<RateLimit::TlsProxy>, L<RateLimit::Dns>, L<RateLimit::Config>,
L<RateLimit::NearReplica>,
L<RateLimit::Document>, L<RateLimit::Example>, L<RateLimit::Traffic>, L<RateLimit::Books>, L<RateLimit::Flood>, L<RateLimit::Folder>,
L<RateLimit::Wait>. What they export a test has without loading them, and C<sum0>, C<max> and C<ceil>.

=head1 ENVIRONMENT

C<TEST_NGINX_BINARY>, C<TEST_NGINX_MODULE> (C<none>: plain nginx), C<TEST_KEEP> (keep the folder),
C<TEST_SLOW> (a factor for every timeout).

=cut

use strict;
use warnings;
use feature 'signatures';

use List::Util qw(max sum0);
use POSIX qw(ceil);
use Test2::API ();
use Test::More;
use RateLimit::Backend;
use RateLimit::Books;
use RateLimit::Busy;
use RateLimit::Certificates;
use RateLimit::Cluster;
use RateLimit::ClusterLoad;
use RateLimit::Config;
use RateLimit::Dns;
use RateLimit::Document;
use RateLimit::Example;
use RateLimit::FakeRedis;
use RateLimit::Flood;
use RateLimit::Folder;
use RateLimit::HTTP;
use RateLimit::Load;
use RateLimit::Model;
use RateLimit::NearReplica;
use RateLimit::Nginx;
use RateLimit::Port;
use RateLimit::Process;
use RateLimit::Proxy;
use RateLimit::Redis;
use RateLimit::Response;
use RateLimit::Sentinels;
use RateLimit::Shards;
use RateLimit::TlsProxy;
use RateLimit::Traffic;
use RateLimit::Upgrade;
use RateLimit::Wait;

my ($owner, $done) = (0);

# Among the lines that tell why a test has failed.
$SIG{__DIE__} = sub ($why) { diag "died: $why" if defined $^S && !$^S };

sub import ($class) {
    my $caller = caller;
    $owner = $$;
    strict->import;
    warnings->import;
    feature->import('signatures');
    my %offered = (done => \&done, max => \&max, sum0 => \&sum0, ceil => \&ceil);
    for my $package ('Test::More', map { "RateLimit::$_" } qw(Config Document Example FakeRedis Folder HTTP Load Port Response Shards
        Wait)) {
        no strict 'refs';
        for my $name (@{"${package}::EXPORT"}) {
            next if $name =~ /^\W/ || $name eq 'done_testing';
            $offered{$name} = \&{"${package}::$name"};
        }
    }
    no strict 'refs';
    *{"${caller}::$_"} = $offered{$_} for keys %offered;
    *{"${caller}::TODO"} = \${"${caller}::TODO"};
    return;
}

sub done () {
    $done = 1;
    check_nginx($_) for RateLimit::Nginx::started();
    RateLimit::Process::stop_all();
    return Test::More::done_testing();
}

sub check_nginx ($nginx) {
    my $stopped = eval { $nginx->stop; 1 };
    fail($@ =~ s/ at .*//sr) if !$stopped;
    my @complaints = $nginx->complaints;
    return if !@complaints;
    fail('the error log is clean');
    diag join "\n", @complaints[0 .. ($#complaints > 20 ? 20 : $#complaints)];
    return;
}

sub show_logs () {
    for my $nginx (RateLimit::Nginx::started()) {
        my @lines = grep { !/\[(?:debug|info)\]/ } split /\n/, $nginx->output;
        splice @lines, 0, -20 if @lines > 20;
        diag join "\n", 'last lines of ' . $nginx->folder, @lines if @lines;
    }
    return;
}

# Runs before the END blocks of the modules loaded above and of Test::More.
END {
    if ($$ == $owner) {
        my $status = $?;
        my $builder = Test::More->builder;
        my $skipped = (Test2::API::test2_stack()->top->plan // '') eq 'SKIP';
        if (!$done && $status == 0 && !$builder->has_plan && !$skipped) {
            fail('done was called');
            $status = 1;
        }
        show_logs() if $status || !$builder->is_passing;
        $? = $status;
    }
}

1;

# Row 16 of the fault matrix: sentinels that refuse the password, do not know the master, or may not be asked for it. The log says what to do,
# rate_limit_on_error decides meanwhile, and all is well as soon as the sentinels are put right.

use RateLimit::Test;

my $set = RateLimit::Sentinels->start(
    sentinels => 3, redis => {acl => ['user default on nopass ~* &* +@all']},
    sentinel => {acl => ['user default on nopass &* +@all', 'user ours on >right +ping', 'user other on >right &* +@all']});
my @sentinels = $set->sentinels;
my %case = (
    'a wrong password' => {
        block => ['mymaster', 'sentinel_username other; sentinel_password wrong;'],
        log   => qr/sentinel \S+ of "main" is down: auth: see sentinel_username and sentinel_password \(.*WRONGPASS/,
        mend  => sub { $_->cmd('ACL', 'SETUSER', 'other', '>wrong') for @sentinels },
    },
    'no right to ask' => {
        block => ['mymaster', 'sentinel_username ours; sentinel_password right;'],
        log   => qr/sentinel \S+ of "main" .*NOPERM/,
        mend  => sub { $_->cmd('ACL', 'SETUSER', 'ours', '+sentinel|master', '+sentinel|replicas', '+sentinel|sentinels') for @sentinels },
    },
    'an unknown master' => {
        block => ['other', ''],
        log   => qr/sentinel \S+ of "main" cannot be used: it knows no master "other"/,
        mend  => sub { $_->cmd('SENTINEL', 'MONITOR', 'other', '127.0.0.1', $set->primary->port, 2) for @sentinels },
    },
);
for my $name (sort keys %case) {
    my $case = $case{$name};
    my ($master, $more) = @{$case->{block}};
    my $begun = monotonic();
    my $nginx = RateLimit::Nginx->with_limit('1000r/h', $set->block('main', "check_timeout 2s; $more") =~ s/master=mymaster/master=$master/r,
        workers => 2, more => 'rate_limit_mode charge_refund; rate_limit_on_error deny; location /allow { rate_limit_on_error allow; }');
    $nginx->wait_log($case->{log});
    is $nginx->get('/x', 'X-Key' => $name)->status, 503, "$name: rate_limit_on_error deny";
    is $nginx->get('/allow', 'X-Key' => $name)->status, 200, "$name: rate_limit_on_error allow";
    let_pass(1);
    my $most = @sentinels * (2 + int(monotonic() - $begun));    # one a second of each
    cmp_ok $nginx->count_log(qr/rate limit: sentinel .* (?:is down|cannot be used|does not serve)/), '<=', $most, "$name: few lines tell";
    $case->{mend}->();
    my $mended = monotonic();
    wait_until { $nginx->get('/x', 'X-Key' => $name)->status == 200 } what => "$name: to be mended";
    cmp_ok monotonic() - $mended, '<', patience(6), "$name: all is well without a reload";
    $nginx->wait_log(qr/sentinel \S+ of "main" (?:is up again|answers what it is asked again)/);
}

done;

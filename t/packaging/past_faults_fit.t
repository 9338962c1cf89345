# Each past fault that random worlds have to find by night (make world-past) can still be put back into the sources.

use RateLimit::Test;

chdir project_path('.') or die $!;
my @patches = glob 't/worlds/past/*.patch';
cmp_ok scalar @patches, '>=', 5, 'there are some';
for my $patch (@patches) {
    my $told = qx(patch --dry-run --batch -p1 < $patch 2>&1);
    is $?, 0, $patch or diag $told;
    unlike $told, qr/fuzz|Reversed/, '... where it stood';
}
done;

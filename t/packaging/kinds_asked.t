# The places outside of limiter/kinds that ask which kind a limit has are those that docs/design.md names, ten at most.

use RateLimit::Test;

chdir project_path('.') or die $!;
my %own = map { $_ => 1 } qw(core redis/keys limiter/kinds limiter/modes limiter/concurrency);
my $asks = qr/\bof_bucket\(\)
    | [!=]=\s*(?:WindowKind|DebtKind|RecordKind)::(?:bucket|bucket_tokens|slots)\b | \bcase\ WindowKind::
    | [!=]=\s*&(?:token_buckets|running_slots)\b | if\ \(!?(?:\w+\.)?bucket\) | \bbucket(?:\.has_value\(\))?\s*\?
    | (?<!draw\.)\b(?:token|fill)\s*[!=]=\s*0\b/x;
my @asking;
for my $file (split /\n/, qx(find src -name '*.h' -o -name '*.cpp')) {
    my ($path) = $file =~ m{^src/(.+)};
    next if grep { $path =~ m{^\Q$_\E/} } keys %own;
    open my $in, '<', $file or die $!;
    my $before = '';
    while (<$in>) {
        push @asking, $path if !m{^\s*//} && /$asks/ && $before !~ /Bucket::of/;    # else it asks whether one can be made
        $before = $_;
    }
}
open my $design, '<', 'docs/design.md' or die $!;
my @named = map { m{^\| `([\w/.]+)`: `\w+` \|} ? $1 : () } <$design>;
is join("\n", sort @asking), join("\n", sort @named), 'each place that asks is named with its reason';
cmp_ok scalar @named, '<=', 10, '... and they are few';
done;

package RateLimit::ReplicaTable;

# The table of docs/redis.md that says what min-replicas-to-write does, and books for a row of it.
#
#   for my $row (RateLimit::ReplicaTable->rows) { ... }
#   $row->name;                                  # "1 replica, min-replicas-to-write 0"
#   $row->says('failover lost', qr/^some\b/);    # whether that cell begins so; columns: failover lost, failover refused, crash lost,
#                                                # crash refused, replica missing
#   my ($set, $books) = $row->open;              # a RateLimit::Sentinels of so many replicas with that setting, and RateLimit::Books
#   $row->refuses($server);                      # that server refuses a write for want of replicas
#   RateLimit::ReplicaTable::ALMOST              # the most that is lost where next to nothing is: charges that a replica has not read yet
#                                                # when it is promoted (50 ms), and a batch of each lease

use v5.36;

use Carp qw(croak);
use RateLimit::Books;
use RateLimit::Folder;
use RateLimit::Sentinels;

use constant ALMOST => 16 + 20 * RateLimit::Books::LEASE;

my @columns = ('replicas', 'setting', 'failover lost', 'failover refused', 'crash lost', 'crash refused', 'replica missing');

sub rows ($class) {
    my ($table) = project_file('docs/redis.md') =~ /^<!-- min-replicas-to-write -->\n((?:\|.*\n)+)/m or croak 'no table in docs/redis.md';
    my @rows;
    for my $line (split /\n/, $table) {
        my ($first, @cells) = split /\s*\|\s*/, $line;
        next if $cells[0] !~ /^\d+$/;
        croak "a row of other columns: $line" if @cells != @columns;
        push @rows, bless {map { $columns[$_] => $cells[$_] } 0 .. $#columns}, $class;
    }
    return @rows;
}

sub name ($self) { return "$self->{replicas} replica@{[$self->{replicas} == 1 ? '' : 's']}, min-replicas-to-write $self->{setting}" }

sub says ($self, $column, $pattern) { return ($self->{$column} // croak "no column $column") =~ $pattern }

sub open ($self, %opt) {
    my $set = RateLimit::Sentinels->start(%opt, masters => {mymaster => {replicas => $self->{replicas}}},
        redis => {args => ['--min-replicas-to-write', $self->{setting}, '--min-replicas-max-lag', 10]});
    return ($set, RateLimit::Books->open($set));
}

sub refuses ($class, $server) { return $server->ask('SET', 'x', 1) =~ /^NOREPLICAS/ }

1;

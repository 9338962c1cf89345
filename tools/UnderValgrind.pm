package UnderValgrind;

# For perl -MUnderValgrind TEST: the titles that nginx's processes give themselves do not show under valgrind, so its workers
# are told by its log.

use strict;
use warnings;
use feature 'signatures';

use RateLimit::Nginx;
use RateLimit::Process;

sub titled ($self, $title) {
    my $log = $self->error_log;
    my %started = map { $_ => 1 } $log =~ /start worker process (\d+)/g;
    my %leaving = map { $_ => 1 } $log =~ /(\d+)#\d+: gracefully shutting down/g;
    my $wanted = $title =~ /shutting down/ ? 1 : 0;
    return grep { $started{$_} && ($leaving{$_} // 0) == $wanted } RateLimit::Process::children_of($self->pid);
}

no warnings 'redefine';
*RateLimit::Nginx::titled = \&titled;

1;

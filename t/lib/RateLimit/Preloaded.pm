package RateLimit::Preloaded;

=head1 NAME

RateLimit::Preloaded - runs tests in children of prove that have the test library already

=head1 SYNOPSIS

    prove -MRateLimit::Preloaded -r t

=head1 DESCRIPTION

Loading L<RateLimit::Test> takes a quarter of a second of a processor, as long as many a test. Here prove loads it, once, and forks for each
test. What a test prints, its exit status and its signals are as if perl had been started for it.

=cut

use strict;
use warnings;
use feature 'signatures';

BEGIN {
    require Test2::API;
    Test2::API::test2_start_preload();
}
use RateLimit::Test ();
use File::Spec;
use TAP::Parser::IteratorFactory;
use parent 'TAP::Parser::SourceHandler';

TAP::Parser::IteratorFactory->register_handler(__PACKAGE__);

sub can_handle ($class, $source) { return $source->meta->{is_file} && $source->meta->{file}{lc_ext} eq '.t' ? 1 : 0 }

sub make_iterator ($class, $source) {
    return RateLimit::Preloaded::Child->new({command => [${$source->raw}], merge => $source->merge});
}

# Reads what a child prints, as its class reads from a program.
package RateLimit::Preloaded::Child;

use parent 'TAP::Parser::Iterator::Process';

sub _initialize ($self, $args) {
    my ($file) = @{$args->{command}};
    pipe my $out, my $to or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        close $out;
        open STDOUT, '>&', $to or die "standard output: $!";
        open STDERR, '>&', $to or die "standard error: $!" if $args->{merge};
        close $to;
        run($file);
    }
    @$self{qw(out pid command)} = ($out, $pid, [$file]);
    return $self;
}

sub run ($file) {
    ($0, @ARGV) = ($file);
    srand;
    Test2::API::test2_stop_preload();
    my $builder = Test::More->builder;
    $builder->$_(\*STDOUT) for qw(output todo_output);
    $builder->failure_output(\*STDERR);
    package main;
    do(File::Spec->rel2abs($file));
    exit 0 if !$@;
    Test::More::diag("died: $@");
    exit 255;
}

1;

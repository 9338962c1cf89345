package RateLimit::TlsProxy;

# A RateLimit::Proxy that speaks TLS to its clients and clear text to the server, and sends answers in odd ways.
#
#   my $proxy = RateLimit::TlsProxy->start(to => $redis->port, certificate => $authority->issue(...), protocol => 'TLSv1.2');
#   tickets => 200                     # sessions that it gives with TLS 1.3
#   $proxy->set(way => 'bytes');       # how answers leave from now on; '': in one record
#
# Ways that are in order: bytes (a record each), late (the second half of a record comes 50 ms after the first). Others are not:
# half (of a record, then the end), half_reset, stuck (half of a record, then nothing), goodbye (close_notify, then the answer),
# alert, alert_clear and clear (not encrypted), noise (a bit is turned over), large (a record of 65,535 bytes is announced),
# renegotiate (is asked for first), stray (one more answer), garbage (instead of a handshake).

use v5.36;

use parent 'RateLimit::Proxy';

# Numbers of versions in OpenSSL.
my %versions = ('TLSv1.2' => 0x0303, 'TLSv1.3' => 0x0304);

sub in_child ($self) {
    $self->SUPER::in_child;
    require Net::SSLeay;    # here, for only a few tests need it
    Net::SSLeay::initialize();
    my $ctx = $self->{ctx} = Net::SSLeay::CTX_new() or die 'no memory';
    my ($version, $tls) = ($versions{$self->{protocol} // 'TLSv1.3'}, $self->{certificate});
    Net::SSLeay::CTX_set_min_proto_version($ctx, $version);
    Net::SSLeay::CTX_set_max_proto_version($ctx, $version);
    Net::SSLeay::CTX_set_num_tickets($ctx, $self->{tickets}) if defined $self->{tickets};
    Net::SSLeay::CTX_use_certificate_chain_file($ctx, $tls->{certificate}) or die 'certificate';
    Net::SSLeay::CTX_use_PrivateKey_file($ctx, $tls->{key}, Net::SSLeay::FILETYPE_PEM()) or die 'key';
    return;
}

sub accepted ($self, $client) {
    $self->SUPER::accepted($client);
    return if $client->{gone};
    my $ssl = Net::SSLeay::new($self->{ctx}) or die 'no memory';
    my ($in, $out) = map { Net::SSLeay::BIO_new(Net::SSLeay::BIO_s_mem()) } 1 .. 2;
    Net::SSLeay::set_bio($ssl, $in, $out);
    Net::SSLeay::set_accept_state($ssl);
    @$client{qw(ssl in_bio out_bio)} = ($ssl, $in, $out);
    return;
}

sub way ($self) { return $self->{state}{way} // '' }

sub received ($self, $conn) {
    my $bytes = $conn->{in};
    $conn->{in} = '';
    my $client = $conn->{ssl} ? $conn : $conn->{other};
    return if !$client || !$client->{ssl} || !length $bytes;
    if ($client != $conn) {
        $self->{relayed}{answers} += length $bytes;
        return $self->answer($client, $bytes);
    }
    $self->{relayed}{questions} += length $bytes;
    return $client->send("garbage\r\n" x 10) if $self->way eq 'garbage';
    Net::SSLeay::BIO_write($client->{in_bio}, $bytes);
    my $ended = 0;
    # Sending to the server may end both connections, and then the session is freed.
    while ($client->{ssl}) {
        my ($text, $result) = Net::SSLeay::read($client->{ssl}, 16_384);
        if (defined $text && length $text) {
            $client->{other}->send($text) if $client->{other};
            next;
        }
        $ended = Net::SSLeay::get_error($client->{ssl}, $result // -1) != Net::SSLeay::ERROR_WANT_READ();
        last;
    }
    return if !$client->{ssl};
    $client->send($self->sealed($client));
    return $ended ? $client->close : undef;
}

# The bytes that TLS has to send.
sub sealed ($self, $client) {
    my $bytes = '';
    while (Net::SSLeay::BIO_pending($client->{out_bio}) > 0) {
        $bytes .= Net::SSLeay::BIO_read($client->{out_bio});
    }
    return $bytes;
}

sub record ($self, $client, $text) {
    Net::SSLeay::write($client->{ssl}, $text);
    return $self->sealed($client);
}

my %ways = (
    ''    => sub ($self, $client, $text) { $client->send($self->record($client, $text)) },
    bytes => sub ($self, $client, $text) { $client->send(join '', map { $self->record($client, $_) } split //, $text) },
    late  => sub ($self, $client, $text) {
        my $record = $self->record($client, $text);
        $client->{late} .= $record;
        $client->send(substr $client->{late}, 0, length($record) / 2, '');
        $self->after(0.05, sub { $client->send(delete $client->{late}) if !$client->{gone} && length($client->{late} // '') });
    },
    half => sub ($self, $client, $text) {
        $self->send_half($client, $text);
        $client->close;
    },
    half_reset => sub ($self, $client, $text) {
        $self->send_half($client, $text);
        $client->close(1);
    },
    stuck   => sub ($self, $client, $text) { $self->send_half($client, $text) },
    goodbye => sub ($self, $client, $text) {
        Net::SSLeay::shutdown($client->{ssl});
        Net::SSLeay::set_shutdown($client->{ssl}, 0);
        $client->send($self->record($client, $text));
    },
    alert => sub ($self, $client, $text) {
        Net::SSLeay::BIO_write($client->{in_bio}, "\x17\x03\x03\x00\x20" . 'x' x 32);    # nobody's: answered by an alert
        Net::SSLeay::read($client->{ssl}, 1);
        $client->send($self->sealed($client));
    },
    alert_clear => sub ($self, $client, $text) { $client->send("\x15\x03\x03\x00\x02\x02\x28") },
    clear       => sub ($self, $client, $text) { $client->send($text) },
    noise       => sub ($self, $client, $text) {
        my $record = $self->record($client, $text);
        vec($record, int rand 8 * length $record, 1) ^= 1;
        $client->send($record);
    },
    large       => sub ($self, $client, $text) { $client->send("\x17\x03\x03\xff\xff" . 'x' x 65_535) },
    renegotiate => sub ($self, $client, $text) {
        Net::SSLeay::renegotiate($client->{ssl});
        Net::SSLeay::do_handshake($client->{ssl});
        $client->send($self->record($client, $text));
    },
    stray   => sub ($self, $client, $text) { $client->send($self->record($client, "$text+OK\r\n")) },
    garbage => sub ($self, $client, $text) { $client->send("garbage\r\n") },
);

sub send_half ($self, $client, $text) {
    my $record = $self->record($client, $text);
    return $client->send(substr $record, 0, length($record) / 2);
}

sub answer ($self, $client, $text) {
    my $do = $ways{$self->way} // die 'no such way: ' . $self->way;
    $do->($self, $client, $text);
    return;
}

sub ended ($self, $conn) {
    Net::SSLeay::free(delete $conn->{ssl}) if $conn->{ssl};
    return $self->SUPER::ended($conn);
}

1;

# Stock DBD::MariaDB: PORT USER PASSWORD. Statements prepared by itself and by the server, last_insert_id, pings. Prints each
# number as `NAME NUMBER`, and `ok`.
use strict;
use warnings;
use DBI;

my ($port, $user, $password) = @ARGV;
my %last = (orders => 0, tickets => 0);

sub got {
    my ($number, $name) = @_;
    die "$name: $number after $last{$name}" unless $number > $last{$name};
    $last{$name} = $number;
    print "$name $number\n";
}

sub same {
    my ($found, $expected) = @_;
    die "$found, not $expected" unless $found eq $expected;
}

my $next = 'SELECT NEXTVAL(orders)';
for my $on_server (0, 1) {
    my $where = "dbi:MariaDB:host=127.0.0.1;port=$port;database=ids;mariadb_server_prepare=$on_server";
    my $db = DBI->connect($where, $user, $password, { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
    my $replace = $db->prepare('REPLACE INTO tickets (stub) VALUES (?)');
    for (1 .. 4) {
        $replace->execute('a');
        got($replace->{mariadb_insertid}, 'tickets');
        same($db->last_insert_id(undef, undef, undef, undef), $last{tickets});
        same($db->selectrow_array('SELECT LAST_INSERT_ID()'), $last{tickets});
    }
    my $prepared = $db->prepare($next);
    for (1 .. 4) {
        $prepared->execute;
        got($prepared->fetchrow_array, 'orders');
        $prepared->finish;
    }
    same($db->selectrow_array('SELECT LASTVAL(orders)'), $last{orders});
    die 'not refused' if eval { $db->selectrow_array('SELECT NEXTVAL(nosuch)'); 1 };
    same($db->err, 4091);
    same($db->ping, 1);
    $db->begin_work;
    got($db->selectrow_array($next), 'orders');
    $db->rollback;
    got($db->selectrow_array($next), 'orders');
    $db->disconnect;
}
print "ok\n";

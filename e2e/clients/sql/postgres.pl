# Stock DBD::Pg: PORT USER PASSWORD. Plain, with parameters, prepared on the server, in a transaction, pings. Prints each
# number as `orders NUMBER`, and `ok`.
use strict;
use warnings;
use DBI;

my ($port, $user, $password) = @ARGV;
my $last = 0;

sub got {
    my ($number) = @_;
    die "$number after $last" unless $number > $last;
    $last = $number;
    print "orders $number\n";
}

sub same {
    my ($found, $expected) = @_;
    die "$found, not $expected" unless $found eq $expected;
}

my $next = "SELECT nextval('orders')";
my $where = "dbi:Pg:host=127.0.0.1;port=$port;dbname=ids";
my $db = DBI->connect($where, $user, $password, { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
got($db->selectrow_array($next));
for my $on_server (0, 1) {
    my $prepared = $db->prepare('SELECT nextval(?)', { pg_server_prepare => $on_server });
    for (1 .. 5) {
        $prepared->execute('orders');
        got($prepared->fetchrow_array);
        $prepared->finish;
    }
}
same($db->selectrow_array("SELECT currval('orders')"), $last);
same($db->last_insert_id(undef, undef, undef, undef, { sequence => 'orders' }), $last);
die 'not refused' if eval { $db->do("SELECT nextval('nosuch')"); 1 };
same($db->state, '42P01');
same($db->ping, 1);
$db->begin_work;
got($db->selectrow_array($next));
same($db->ping, 3);
$db->pg_savepoint('before');
die 'not refused' if eval { $db->selectrow_array('SELECT nextval(?)', undef, 'nosuch'); 1 };
$db->pg_rollback_to('before');
got($db->selectrow_array($next));
$db->commit;
got($_->[0]) for @{ $db->selectall_arrayref("SELECT nextval('orders') FROM generate_series(1, 5)") };
$db->disconnect;
print "ok\n";

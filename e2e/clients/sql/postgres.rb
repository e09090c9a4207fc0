# Stock ruby-pg: PORT USER PASSWORD. Simple, with parameters, prepared, in a transaction, row by row, in a pipeline.
# Prints each number as `orders NUMBER`, and `ok`.
require 'pg'

port, user, password = ARGV
$last = 0

def got(number)
  number = Integer(number)
  raise "#{number} after #{$last}" unless number > $last
  $last = number
  puts "orders #{number}"
end

def same(found, expected)
  raise "#{found.inspect}, not #{expected.inspect}" unless found == expected
end

def refused(kind)
  yield
rescue kind => error
  error
else
  raise "expected #{kind}"
end

NEXT = "SELECT nextval('orders')"

connection = PG.connect(host: '127.0.0.1', port: port, user: user, password: password, dbname: 'ids')
got connection.exec(NEXT).getvalue(0, 0)
3.times { got connection.exec_params('SELECT nextval($1)', ['orders']).getvalue(0, 0) }
connection.prepare('next', 'SELECT nextval($1)')
6.times { got connection.exec_prepared('next', ['orders']).getvalue(0, 0) }
# Binary results.
got connection.exec_params(NEXT, [], 1).getvalue(0, 0).unpack1('q>')
same Integer(connection.exec("SELECT currval('orders')").getvalue(0, 0)), $last

error = refused(PG::UndefinedTable) { connection.exec("SELECT nextval('nosuch')") }
same error.result.error_field(PG::PG_DIAG_MESSAGE_PRIMARY), 'relation "nosuch" does not exist'
refused(PG::UndefinedTable) { connection.exec_params('SELECT nextval($1)', ['nosuch']) }
got connection.exec(NEXT).getvalue(0, 0)
connection.transaction { got connection.exec(NEXT).getvalue(0, 0) }
refused(PG::UndefinedTable) do
  connection.transaction do
    got connection.exec(NEXT).getvalue(0, 0)
    connection.exec("SELECT nextval('nosuch')")
  end
end
same connection.transaction_status, PG::PQTRANS_IDLE

connection.send_query("SELECT nextval('orders') FROM generate_series(1, 5)")
connection.set_single_row_mode
connection.get_result.stream_each_row { |(number)| got number }
same connection.get_result, nil
connection.reset
refused(PG::ObjectNotInPrerequisiteState) { connection.exec("SELECT currval('orders')") }
got connection.exec(NEXT).getvalue(0, 0)
connection.exec('DISCARD ALL')
connection.exec('DEALLOCATE ALL')
connection.close
puts 'ok'

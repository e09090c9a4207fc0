# Stock mysql2 of Ruby: PORT USER PASSWORD. Text and prepared statements, last_id, several statements at once, ping.
# Prints each number as `NAME NUMBER`, and `ok`.
require 'mysql2'

port, user, password = ARGV
$last = Hash.new(0)

def got(number, name = 'orders')
  raise "#{name}: #{number} after #{$last[name]}" unless number.is_a?(Integer) && number > $last[name]
  $last[name] = number
  puts "#{name} #{number}"
end

def same(found, expected)
  raise "#{found.inspect}, not #{expected.inspect}" unless found == expected
end

NEXT = 'SELECT NEXTVAL(orders) AS n'

db = Mysql2::Client.new(
  host: '127.0.0.1', port: Integer(port), username: user, password: password, database: 'ids',
  flags: Mysql2::Client::MULTI_STATEMENTS
)
one = ->(statement) { db.query(statement).first.values.first }
3.times do
  db.query("REPLACE INTO tickets (stub) VALUES ('a')")
  got db.last_id, 'tickets'
  same one.('SELECT LAST_INSERT_ID()'), $last['tickets']
end
replace = db.prepare('REPLACE INTO tickets (stub) VALUES (?)')
3.times do
  replace.execute('a')
  got replace.last_id, 'tickets'
end
replace.close
got one.(NEXT)
prepared = db.prepare(NEXT)
3.times { got prepared.execute.first['n'] }
prepared.close
same one.('SELECT LASTVAL(orders)'), $last['orders']
begin
  one.('SELECT NEXTVAL(nosuch)')
  raise 'not refused'
rescue Mysql2::Error => error
  same [error.error_number, error.sql_state], [4091, '42S02']
end
same db.ping, true
got db.query("#{NEXT}; #{NEXT}").first['n']
db.next_result
got db.store_result.first['n']
db.query('BEGIN')
got one.(NEXT)
db.query('ROLLBACK')
got one.(NEXT)
db.close
puts 'ok'

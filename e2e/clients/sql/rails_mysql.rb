# Stock ActiveRecord on mysql2: PORT USER PASSWORD. What Rails does at connect, tickets by its own insert, nested
# transactions, its pings. Prints each number as `NAME NUMBER`, and `ok`.
require 'active_record'

port, user, password = ARGV
$last = Hash.new(0)

def got(number, name = 'orders')
  raise "#{name}: #{number.inspect} after #{$last[name]}" unless number.is_a?(Integer) && number > $last[name]
  $last[name] = number
  puts "#{name} #{number}"
end

NEXT = 'SELECT NEXTVAL(orders)'

ActiveRecord::Base.establish_connection(
  adapter: 'mysql2', host: '127.0.0.1', port: Integer(port), username: user, password: password, database: 'ids'
)
connection = ActiveRecord::Base.connection
4.times { got connection.insert("REPLACE INTO tickets (stub) VALUES ('a')"), 'tickets' }
4.times { got connection.select_value(NEXT) }
ActiveRecord::Base.transaction do
  got connection.select_value(NEXT)
  begin
    ActiveRecord::Base.transaction(requires_new: true) { connection.select_value('SELECT NEXTVAL(nosuch)') }
    raise 'not refused'
  rescue ActiveRecord::StatementInvalid => error
    raise error unless error.cause.error_number == 4091
  end
  got connection.select_value(NEXT)
end
raise 'ping' unless connection.active?
connection.reset!
got connection.select_value(NEXT)
connection.reconnect!
got connection.select_value(NEXT)
connection.disconnect!
puts 'ok'

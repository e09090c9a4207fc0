# Stock ActiveRecord on ruby-pg: PORT USER PASSWORD. What Rails does at connect, its numbers as numbers, nested
# transactions, its pool. Prints each number as `orders NUMBER`, and `ok`.
require 'active_record'

port, user, password = ARGV
$last = 0

def got(number)
  raise "#{number.inspect} is no number" unless number.is_a?(Integer)
  raise "#{number} after #{$last}" unless number > $last
  $last = number
  puts "orders #{number}"
end

NEXT = "SELECT nextval('orders')"

ActiveRecord::Base.establish_connection(
  adapter: 'postgresql', host: '127.0.0.1', port: port, username: user, password: password, database: 'ids', pool: 2
)
connection = ActiveRecord::Base.connection
got connection.select_value(NEXT)
7.times do
  bound = ActiveRecord::Relation::QueryAttribute.new('name', 'orders', ActiveRecord::Type::String.new)
  got connection.select_value('SELECT nextval($1)', nil, [bound])
end
ActiveRecord::Base.transaction do
  got connection.select_value(NEXT)
  begin
    ActiveRecord::Base.transaction(requires_new: true) { connection.select_value("SELECT nextval('nosuch')") }
    raise 'not refused'
  rescue ActiveRecord::StatementInvalid => error
    raise error unless error.cause.is_a?(PG::UndefinedTable)
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

# Stock ruby-pg with its own casts, which it looks up in the catalogues: PORT USER PASSWORD. Numbers are Integers. Prints
# each as `orders NUMBER`, and `ok`.
require 'pg'

port, user, password = ARGV
connection = PG.connect(host: '127.0.0.1', port: port, user: user, password: password, dbname: 'ids')
connection.type_map_for_results = PG::BasicTypeMapForResults.new(connection)
connection.type_map_for_queries = PG::BasicTypeMapForQueries.new(connection)
3.times do
  number = connection.exec("SELECT nextval('orders')").getvalue(0, 0)
  raise "#{number.inspect} is no Integer" unless number.is_a?(Integer)
  puts "orders #{number}"
  number = connection.exec_params('SELECT nextval($1)', ['orders']).getvalue(0, 0)
  raise "#{number.inspect} is no Integer" unless number.is_a?(Integer)
  puts "orders #{number}"
end
connection.close
puts 'ok'

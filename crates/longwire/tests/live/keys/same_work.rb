# The same work as the other programs do: same_work.rb postgres|mariadb PORT off|AUTHORITY
kind, port, authority = ARGV
tls = authority != 'off'
if kind == 'postgres'
  require 'pg'
  mode = tls ? 'require' : 'disable'
  connection = PG.connect(host: '127.0.0.1', port: port, user: 'postgres', dbname: 'postgres', sslmode: mode)
  5.times { |n| connection.exec_params('select name from numbers where n = $1', [n + 1]) }
  connection.exec('select n, name from numbers order by n')
  connection.transaction { connection.exec_params('insert into marks values ($1)', [7]) }
else
  require 'mysql2'
  options = { host: '127.0.0.1', port: port.to_i, username: 'longwire', password: 'longwire-secret', database: 'test' }
  options[:sslca] = authority if tls
  connection = Mysql2::Client.new(**options)
  one = connection.prepare('select name from numbers where n = ?')
  5.times { |n| one.execute(n + 1).to_a }
  connection.query('select n, name from numbers order by n').to_a
  connection.query('begin')
  connection.prepare('insert into marks values (?)').execute(7)
  connection.query('commit')
end
connection.close

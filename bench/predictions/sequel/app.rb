# Ruby: Sinatra under puma, four threads; Sequel's models. SQLCOMMENTER=own names the requests in SQL comments.
require 'json'
require 'sequel'
require 'sinatra/base'

DB = Sequel.connect(adapter: 'postgres', host: ENV['PGHOST'], port: ENV['PGPORT'], user: ENV['PGUSER'],
                    database: ENV['PGDATABASE'], sslmode: ENV['PGSSLMODE'], max_connections: 4)

class Author < Sequel::Model
end

class Item < Sequel::Model
  many_to_one :author
end

class Pages < Sinatra::Base
  set :environment, :production

  def page(items)
    listed = items.where { |item| item.id >= rand(1..900) }.order(:id).limit(12).all
    content_type :json
    listed.map { |item| { id: item.id, name: item.name, stars: item.stars, author: item.author.name } }.to_json
  end

  %i[get post].each do |method|
    send(method, '/n1') { page(Item.dataset) }
    send(method, '/joined') { page(Item.eager(:author)) }
  end
end

require_relative 'named' if ENV['SQLCOMMENTER'] == 'own'

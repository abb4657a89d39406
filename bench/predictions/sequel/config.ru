require_relative 'app'
run Pages

# Marks for longwire check --operations marked: add this to test/test_helper.rb.
class ActiveSupport::TestCase
  parallelize(workers: 1)
  setup    { longwire_mark(" #{self.class.name}##{name}") }
  teardown { longwire_mark("") }

  def longwire_mark(name)
    return unless ENV["LONGWIRE_URL"]
    quoted = ActiveRecord::Base.connection.quote_column_name("longwire#{name}")
    ActiveRecord::Base.connection.select_value("SELECT 1 AS #{quoted}")
  end
end

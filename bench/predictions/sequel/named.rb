# Names each statement's request in a comment at its end.
Pages.before do
  # Without what could end the comment or the text: a client sent it.
  safe = ->(text) { text.gsub(%r{[^\w./-]}, '') }
  Thread.current[:comment] = " /*route='#{safe.(request.path_info.delete('/'))}',traceparent='#{safe.(request.env['HTTP_TRACEPARENT'].to_s)}'*/"
end

DB.extend(Module.new do
  def execute(sql, ...)
    super("#{sql}#{Thread.current[:comment]}", ...)
  end
end)

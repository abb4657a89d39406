# Names each statement's request in a comment at its end.
Pages.before do
  Thread.current[:comment] = " /*route='#{request.path_info.delete('/')}',traceparent='#{request.env['HTTP_TRACEPARENT']}'*/"
end

DB.extend(Module.new do
  def execute(sql, ...)
    super("#{sql}#{Thread.current[:comment]}", ...)
  end
end)

// Names each statement's request in a comment at its end.
const { AsyncLocalStorage } = require('async_hooks');

// Without what could end the comment or the text: a client sent it.
const safe = (text) => text.replace(/[^\w./-]/g, '');
const request = new AsyncLocalStorage();

module.exports = (app, pool) => {
  app.use((asked, _response, next) => request.run(asked, next));
  const { query } = pool;
  pool.query = (text, ...rest) => {
    const { path, headers } = request.getStore();
    return query.call(pool, `${text} /*route='${safe(path.slice(1))}',traceparent='${safe(headers.traceparent ?? '')}'*/`, ...rest);
  };
};

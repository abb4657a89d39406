// Names each statement's request in a comment at its end.
const { AsyncLocalStorage } = require('async_hooks');

const request = new AsyncLocalStorage();

module.exports = (app, pool) => {
  app.use((asked, _response, next) => request.run(asked, next));
  const { query } = pool;
  pool.query = (text, ...rest) => {
    const { path, headers } = request.getStore();
    return query.call(pool, `${text} /*route='${path.slice(1)}',traceparent='${headers.traceparent ?? ''}'*/`, ...rest);
  };
};

const items = require('./items');
const { validateId } = require('./validate');

function answer(url) {
  const { pathname } = new URL(url, 'http://localhost');
  if (pathname === '/items') {
    return { status: 200, body: items.all() };
  }
  const found = /^\/items\/([^/]+)$/.exec(pathname);
  if (found) {
    const id = validateId(found[1]);
    const item = id.error ? undefined : items.one(id.value);
    return item ? { status: 200, body: item } : { status: 404, body: { error: 'not found' } };
  }
  return { status: 404, body: { error: 'not found' } };
}

module.exports = { answer };

const test = require('node:test');
const assert = require('node:assert');
const { answer } = require('../src/routes');

test('one item', () => {
  assert.strictEqual(answer('/items/7').body.name, 'item 007');
  assert.strictEqual(answer('/items/x').status, 404);
});

"""make.py DIR: writes the shop as the assistant finds it."""

import sys
from pathlib import Path

FILES = {}

FILES["package.json"] = """{
  "name": "tinyshop",
  "version": "1.4.0",
  "private": true,
  "scripts": {
    "test": "node --test"
  }
}
"""
FILES["config/app.json"] = """{
  "currency": "EUR",
  "locale": "en",
  "helpers": ["formatPrice", "formatPriceRange", "formatDate"],
  "columns": {
    "total": "formatPrice",
    "from_to": "formatPriceRange",
    "day": "formatDate"
  }
}
"""
FILES["config/test.json"] = """{
  "currency": "USD",
  "locale": "en",
  "helpers": ["formatPrice", "formatPriceRange", "formatDate"],
  "columns": { "total": "formatPrice" }
}
"""
FILES["src/money/price.js"] = """'use strict';

const SIGNS = { EUR: '€', USD: '$', GBP: '£' };

/** formatPrice(1999) is "€19.99"; amounts are whole cents. */
function formatPrice(cents, currency = 'EUR') {
  if (!Number.isInteger(cents)) {
    throw new TypeError(`formatPrice: not a whole number of cents: ${cents}`);
  }
  const sign = SIGNS[currency] || `${currency} `;
  const text = (Math.abs(cents) / 100).toFixed(2);
  return `${cents < 0 ? '-' : ''}${sign}${text}`;
}

/** formatPriceRange(100, 200) is "€1.00 – €2.00". */
function formatPriceRange(from, to, currency = 'EUR') {
  if (from === to) return formatPrice(from, currency);
  return `${formatPrice(from, currency)} – ${formatPrice(to, currency)}`;
}

/** reformatPrice("19,99") is "€19.99". */
function reformatPrice(text, currency = 'EUR') {
  const cents = Math.round(Number(String(text).replace(',', '.')) * 100);
  return formatPrice(cents, currency);
}

module.exports = { formatPrice, formatPriceRange, reformatPrice };
"""
FILES["src/money/index.js"] = """'use strict';

const { formatPrice, formatPriceRange, reformatPrice } = require('./price');

module.exports = { formatPrice, formatPriceRange, reformatPrice };
"""
FILES["src/dates.js"] = """'use strict';

function formatDate(time) {
  return new Date(time).toISOString().slice(0, 10);
}

module.exports = { formatDate };
"""
FILES["src/helpers.js"] = """'use strict';

// Templates may only use the helpers that the config names.
function loadHelpers(config) {
  const known = { ...require('./money'), ...require('./dates') };
  const helpers = new Map();
  for (const name of config.helpers) {
    if (typeof known[name] !== 'function') throw new Error(`no such helper: ${name}`);
    helpers.set(name, known[name]);
  }
  return helpers;
}

module.exports = { loadHelpers };
"""
FILES["src/template.js"] = """'use strict';

const fs = require('fs');
const path = require('path');
const { loadHelpers } = require('./helpers');

/** Fills {{ name }} and {{ helper name other }}. */
function fill(template, values, config) {
  const helpers = loadHelpers(config);
  return template.replace(/{{\\s*([^}]+?)\\s*}}/g, (_, inner) => {
    const words = inner.split(/\\s+/);
    if (words.length === 1) return String(values[words[0]]);
    const helper = helpers.get(words[0]);
    if (!helper) throw new Error(`unknown helper in template: ${words[0]}`);
    return helper(...words.slice(1).map((word) => values[word]));
  });
}

function fillFile(name, values, config) {
  const file = path.join(__dirname, '..', 'templates', name);
  return fill(fs.readFileSync(file, 'utf8'), values, config);
}

module.exports = { fill, fillFile };
"""
FILES["src/legacy.js"] = """'use strict';

// Old pages ask for show('Price', 1999), show('Date', 0) and so on.
const { loadHelpers } = require('./helpers');
const config = require('../config/app.json');

function show(kind, ...args) {
  const helper = loadHelpers(config).get('format' + kind);
  if (!helper) throw new Error(`cannot show a ${kind}`);
  return helper(...args);
}

module.exports = { show };
"""
FILES["src/cli.js"] = """'use strict';

const money = require('./money');

// node src/cli.js price 1999
const COMMANDS = { price: 'formatPrice', range: 'formatPriceRange', parse: 'reformatPrice' };

function main(args) {
  const name = COMMANDS[args[0]];
  if (!name) return 'usage: cli.js price CENTS | range FROM TO | parse TEXT';
  const values = args[0] === 'parse' ? args.slice(1) : args.slice(1).map(Number);
  return money[name](...values);
}

if (require.main === module) console.log(main(process.argv.slice(2)));

module.exports = { main };
"""
FILES["src/report.js"] = """'use strict';

const money = require('./money');
const { formatDate } = require('./dates');

const FORMATS = { ...money, formatDate };

/** One line a row; config.columns says which function formats which column. */
function report(rows, config) {
  return rows
    .map((row) => Object.keys(config.columns)
      .filter((key) => key in row)
      .map((key) => FORMATS[config.columns[key]](...[].concat(row[key])))
      .join(' | '))
    .join('\\n');
}

module.exports = { report };
"""


def user(name, function, text, arguments="cents", call="formatPrice(cents)"):
    """A small module that uses the function."""
    FILES[f"src/{name}.js"] = f"""'use strict';

const {{ formatPrice }} = require('./money');

function {function}({arguments}) {{
  return `{text}: ${{{call}}}`;
}}

module.exports = {{ {function} }};
"""


user("discount", "discountLine", "You save")
user("tax", "taxLine", "Tax", "cents, rate", "formatPrice(Math.round(cents * rate))")
user("refund", "refundLine", "Refund", "cents", "formatPrice(-cents)")
user("wishlist", "wishLine", "Wish", "item", "formatPrice(item.price)")
user("email", "subject", "Your order", "order", "formatPrice(order.total)")
user("gift", "giftLine", "Gift card", "cents, currency", "formatPrice(cents, currency)")
user("invoice", "invoiceLine", "Invoice total", "lines", "formatPrice(lines.reduce((a, b) => a + b, 0))")
user("csv", "csvHead", "total", "cents", "formatPrice(cents).replace(',', ';')")

FILES["src/cart.js"] = """'use strict';

const { formatPrice } = require('./money');

function total(items) {
  return items.reduce((sum, item) => sum + item.price * item.count, 0);
}

function cartLines(items) {
  const lines = items.map((item) => `${item.count} x ${item.name}: ${formatPrice(item.price * item.count)}`);
  return [...lines, `Total: ${formatPrice(total(items))}`];
}

module.exports = { total, cartLines };
"""
FILES["src/shipping.js"] = """'use strict';

const { formatPrice, formatPriceRange } = require('./money');

function shippingLine(costs) {
  if (costs.length === 1) return `Shipping: ${formatPrice(costs[0])}`;
  return `Shipping: ${formatPriceRange(Math.min(...costs), Math.max(...costs))}`;
}

module.exports = { shippingLine };
"""
FILES["src/catalog.js"] = """'use strict';

const { formatPrice, formatPriceRange, reformatPrice } = require('./money');

function catalogLine(item) {
  if (item.text) return `${item.name} ${reformatPrice(item.text)}`;
  if (item.to) return `${item.name} ${formatPriceRange(item.price, item.to)}`;
  return `${item.name} ${formatPrice(item.price)}`;
}

module.exports = { catalogLine };
"""
FILES["src/index.js"] = """'use strict';

module.exports = {
  ...require('./money'),
  ...require('./cart'),
  ...require('./catalog'),
  ...require('./shipping'),
  fill: require('./template').fill,
  fillFile: require('./template').fillFile,
  report: require('./report').report,
  show: require('./legacy').show,
};
"""
FILES["templates/mail.txt"] = """Dear {{ name }},

thank you for your order of {{ formatDate day }}.
Total: {{ formatPrice total }}
"""
FILES["templates/receipt.txt"] = """RECEIPT
Paid:   {{ formatPrice total }}
Change: {{ formatPrice change }}
"""
FILES["templates/offer.txt"] = """{{ name }}: {{ formatPriceRange low high }}
Now from {{ formatPrice low }}
"""


def test(name, head, *bodies):
    FILES[f"test/{name}.test.js"] = (
        "'use strict';\n\nconst test = require('node:test');\n"
        "const assert = require('node:assert');\n"
        + head
        + "\n"
        + "\n".join(f"test('{title}', () => {{\n{body}}});\n" for title, body in bodies)
    )


test(
    "price",
    "const { formatPrice, formatPriceRange, reformatPrice } = require('../src/money');\n",
    (
        "formatPrice shows cents",
        "  assert.equal(formatPrice(1999), '€19.99');\n  assert.equal(formatPrice(-5, 'USD'), '-$0.05');\n",
    ),
    (
        "formatPrice names itself in its error",
        "  assert.throws(() => formatPrice(1.5), /^TypeError: formatPrice: not a whole/);\n",
    ),
    ("formatPriceRange", "  assert.equal(formatPriceRange(100, 200), '€1.00 – €2.00');\n"),
    ("reformatPrice", "  assert.equal(reformatPrice('19,99'), '€19.99');\n"),
)
test(
    "cart",
    "const { cartLines } = require('../src/cart');\nconst { formatPrice } = require('../src/money');\n",
    (
        "the total is the last line",
        "  const lines = cartLines([{ name: 'tea', price: 250, count: 2 }]);\n"
        "  assert.deepEqual(lines, ['2 x tea: €5.00', `Total: ${formatPrice(500)}`]);\n",
    ),
)
test(
    "lines",
    "const { formatPrice } = require('../src/money');\n",
    (
        "discount, tax, refund, gift",
        "  assert.equal(require('../src/discount').discountLine(100), `You save: ${formatPrice(100)}`);\n"
        "  assert.equal(require('../src/tax').taxLine(1000, 0.19), 'Tax: €1.90');\n"
        "  assert.equal(require('../src/refund').refundLine(100), 'Refund: -€1.00');\n"
        "  assert.equal(require('../src/gift').giftLine(100, 'GBP'), 'Gift card: £1.00');\n",
    ),
    (
        "wish list, mail, invoice, csv",
        "  assert.equal(require('../src/wishlist').wishLine({ price: 1 }), 'Wish: €0.01');\n"
        "  assert.equal(require('../src/email').subject({ total: 100 }), 'Your order: €1.00');\n"
        "  assert.equal(require('../src/invoice').invoiceLine([1, 2]), 'Invoice total: €0.03');\n"
        "  assert.equal(require('../src/csv').csvHead(100), 'total: €1.00');\n",
    ),
)
test(
    "shipping",
    "const { shippingLine } = require('../src/shipping');\nconst { formatPrice } = require('../src/money');\n",
    ("one cost", "  assert.equal(shippingLine([490]), `Shipping: ${formatPrice(490)}`);\n"),
    ("several costs", "  assert.equal(shippingLine([490, 990]), 'Shipping: €4.90 – €9.90');\n"),
)
test(
    "catalog",
    "const { catalogLine } = require('../src/catalog');\n",
    (
        "a range, a text, a price like formatPrice",
        "  assert.equal(catalogLine({ name: 'tea', price: 100, to: 300 }), 'tea €1.00 – €3.00');\n"
        "  assert.equal(catalogLine({ name: 'tea', text: '2,50' }), 'tea €2.50');\n"
        "  assert.equal(catalogLine({ name: 'tea', price: 100 }), 'tea €1.00');\n",
    ),
)
test(
    "template",
    "const { fill, fillFile } = require('../src/template');\nconst config = require('../config/test.json');\n",
    ("a helper by its name", "  assert.equal(fill('{{ formatPrice total }}!', { total: 100 }, config), '€1.00!');\n"),
    (
        "mail.txt",
        "  const text = fillFile('mail.txt', { name: 'Ann', day: 0, total: 1999 }, config);\n  assert.match(text, /Ann,[^]*1970-01-01[^]*€19.99/);\n",
    ),
    (
        "receipt.txt and offer.txt",
        "  assert.match(fillFile('receipt.txt', { total: 500, change: 20 }, config), /€5.00\\n.*€0.20/);\n"
        "  assert.match(fillFile('offer.txt', { name: 'tea', low: 100, high: 200 }, config), /€1.00 – €2.00\\n.*€1.00/);\n",
    ),
)
test(
    "report",
    "const { report } = require('../src/report');\nconst config = require('../config/app.json');\n",
    (
        "columns of the config",
        "  assert.equal(config.columns.total, 'formatPrice');\n"
        "  assert.equal(report([{ total: 100, from_to: [1, 2], day: 0 }], config), '€1.00 | €0.01 – €0.02 | 1970-01-01');\n",
    ),
)
test(
    "cli",
    "const { main } = require('../src/cli');\nconst { formatPrice } = require('../src/money');\n",
    ("price", "  assert.equal(main(['price', '1999']), formatPrice(1999));\n"),
    (
        "range and parse",
        "  assert.equal(main(['range', '1', '2']), '€0.01 – €0.02');\n  assert.equal(main(['parse', '1,5']), '€1.50');\n",
    ),
)
test(
    "legacy",
    "const { show } = require('../src/legacy');\n",
    ("show a price", "  assert.equal(show('Price', 1999), '€19.99');\n"),
    (
        "show a range and a date",
        "  assert.equal(show('PriceRange', 1, 2), '€0.01 – €0.02');\n  assert.equal(show('Date', 0), '1970-01-01');\n",
    ),
    ("nothing else", "  assert.throws(() => show('Weight', 1), /cannot show/);\n"),
)

FILES["README.md"] = """# tinyshop

A small shop without a database.

    const { formatPrice } = require('./src');
    formatPrice(1999);            // €19.99
    formatPriceRange(100, 200);   // €1.00 – €2.00

Texts are in `templates/`; they may use the helpers named in `config/app.json`, such as `formatPrice`.
Run the tests with `node --test`.
"""
FILES["CHANGELOG.md"] = """# Changes

## 1.4.0
- formatPriceRange: one price where both ends are equal.

## 1.1.0
- New: formatPrice (was showPrice).
"""
FILES["docs/api.md"] = """# Functions

## formatPrice(cents, currency)

Text for an amount. Throws a TypeError that begins with `formatPrice:` for fractions of a cent.

## formatPriceRange(from, to, currency)

Two amounts; uses `formatPrice` for each.

## reformatPrice(text, currency)

Reads a text and shows it as `formatPrice` does.
"""
FILES["docs/templates.md"] = """# Templates

`{{ formatPrice total }}` puts an amount, `{{ formatPriceRange low high }}` two.
A helper must be named in `config/app.json` under `helpers`.
"""
FILES["docs/cli.md"] = """# Command line

| command | function |
|---|---|
| `price CENTS` | formatPrice |
| `range FROM TO` | formatPriceRange |
| `parse TEXT` | reformatPrice |
"""

if __name__ == "__main__":
    root = Path(sys.argv[1])
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")

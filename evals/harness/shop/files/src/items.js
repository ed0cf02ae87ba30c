const items = [];
for (let n = 1; n <= 150; n += 1) {
  items.push({ id: n, name: `item ${String(n).padStart(3, '0')}` });
}

function all() {
  return [...items].sort((a, b) => a.name.localeCompare(b.name));
}

function one(id) {
  return items.find((item) => item.id === id);
}

module.exports = { all, one };

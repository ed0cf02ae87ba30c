/** Read a whole number; anything else is undefined. */
function wholeNumber(text) {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function validateId(text) {
  const id = wholeNumber(text);
  if (id === undefined || id < 1) {
    return { error: `no such id: ${text}` };
  }
  return { value: id };
}

module.exports = { validateId };

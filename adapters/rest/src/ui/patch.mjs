// JSON merge patches (RFC 7396), as the API tells changes of a status.

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/**
 * What a patch makes of a value. Neither is changed, and what the patch does not name stays the same object: whoever shows
 * parts of it sees by identity which of them are as before.
 */
export function patched(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    // No name of ours; assigned, it would change what the object is.
    if (name === '__proto__') continue;
    if (value === null) delete result[name];
    else result[name] = patched(result[name], value);
  }
  return result;
}

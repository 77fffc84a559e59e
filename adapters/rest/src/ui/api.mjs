// Asking the API, with the rights of whoever looks at the page.

/** The API lies beside the page, wherever that is. */
const BASE = new URL('../v2/', document.baseURI);

/** Where the token is kept: as long as this tab is open, and in no address. */
const TOKEN = 'dcm-token';

/** Most pages of one list that are read. */
const PAGES_MAX = 40;

export class ApiError extends Error {
  constructor(status, detail, retryAfter) {
    super(detail);
    [this.status, this.retryAfter] = [status, retryAfter];
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value) => sessionStorage.setItem(TOKEN, value),
  forget: () => sessionStorage.removeItem(TOKEN),
};

let offset = 0;

/** The time by the clock of the server: that of this machine may be wrong, and times to a next try with it. */
export const now = () => Date.now() + offset;

function compareClocks(answer) {
  const date = Date.parse(answer.headers.get('date') ?? '');
  if (Number.isNaN(date)) return;
  // It is in whole seconds, and some time old.
  const found = date + 500 - Date.now();
  offset = Math.abs(found) > 2000 ? found : 0;
}

/** Asks for a path below `/v2`. Throws an `ApiError` for any answer that is not what was asked for. */
export async function ask(path, { signal, accept = 'application/json' } = {}) {
  const headers = { accept };
  const shown = token.get();
  if (shown) headers.authorization = `Bearer ${shown}`;
  let answer;
  try {
    answer = await fetch(new URL(path, BASE), { headers, signal, cache: 'no-store', redirect: 'error' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'the server does not answer');
  }
  compareClocks(answer);
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  const after = Number(answer.headers.get('retry-after'));
  throw new ApiError(answer.status, problem.detail ?? problem.title ?? `it answers ${answer.status}`, after * 1000 || 0);
}

/** The path of what has these names, each of which may be anything. */
export const path = (...names) => names.map(encodeURIComponent).join('/');

export async function json(asked, options) {
  return (await ask(asked, options)).json();
}

/** All items of a list, and what of it can't be read; not more than some pages. */
export async function list(asked, options) {
  const found = { items: [], broken: [], isWhole: true };
  let next = asked;
  for (let page = 0; next !== undefined; page += 1) {
    if (page === PAGES_MAX) return { ...found, isWhole: false };
    const part = await json(next, options);
    found.items.push(...part.items);
    found.broken.push(...(part.broken ?? []));
    // It is a path of the server; whatever stands before the page may have another one.
    next = part.next?.replace(/^.*?\/v2\//, '');
  }
  return found;
}

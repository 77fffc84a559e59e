// Keys that do something, and the page that tells them. Single letters can be switched off: some speak to their computer.

const SETTING = 'dcm-keys';

const isOn = () => localStorage.getItem(SETTING) !== 'off';

export function begin() {
  const dialog = document.querySelector('#help');
  const toggle = document.querySelector('#keys');
  toggle.checked = isOn();
  toggle.addEventListener('change', () => localStorage.setItem(SETTING, toggle.checked ? 'on' : 'off'));
  document.querySelector('#help-open').addEventListener('click', () => dialog.showModal());
  document.querySelector('#help-close').addEventListener('click', () => dialog.close());
  addEventListener('keydown', (event) => {
    if (!isOn() || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.closest('input, textarea, select')) return escape(event);
    const act = ACTIONS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

const focus = (selector) => document.querySelector(selector)?.focus();
const follow = (selector) => document.querySelector(selector)?.click();

const ACTIONS = {
  '?': () => document.querySelector('#help').showModal(),
  '/': () => focus('#filter'),
  m: () => focus('.matrix tbody a[tabindex="0"]'),
  u: () => follow('nav.path a:last-of-type'),
  r: () => follow('#stale button:not([hidden])'),
  1: () => follow('nav.tabs li:nth-child(1) a'),
  2: () => follow('nav.tabs li:nth-child(2) a'),
  3: () => follow('nav.tabs li:nth-child(3) a'),
  4: () => follow('nav.tabs li:nth-child(4) a'),
};

/** Out of the filter, which is emptied before. */
function escape(event) {
  if (event.key !== 'Escape' || event.target.id !== 'filter') return;
  if (event.target.value === '') return focus('main h1');
  event.target.value = '';
  event.target.dispatchEvent(new Event('input', { bubbles: true }));
}

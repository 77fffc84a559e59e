// Asking for a token, where the server wants to know who asks and the browser has shown no certificate.

import { token } from './api.mjs';
import { h } from './dom.mjs';

export class SignIn {
  constructor(shell, why, done) {
    shell.title('Who are you?');
    const field = h('input', {
      id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, 'aria-describedby': 'token-note',
    });
    const form = h(
      'form',
      {},
      h('label', { for: 'token' }, 'Token'),
      h('div', { class: 'line' }, field, h('button', { type: 'submit' }, 'Go on')),
      h('p', { id: 'token-note', class: 'faint' }, 'It stays in this tab, is sent to this server alone, and is forgotten when the tab is closed.'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = field.value.trim();
      // Nothing else fits into a header.
      const isOne = /^[\x21-\x7e]+$/.test(text);
      field.setCustomValidity(isOne ? '' : 'A token has visible letters of ASCII alone.');
      if (!isOne) return field.reportValidity();
      token.set(text);
      return done();
    });
    field.addEventListener('input', () => field.setCustomValidity(''));
    this.element = h(
      'section',
      { class: 'narrow' },
      h('h1', { tabindex: '-1' }, 'Who are you?'),
      why && h('p', { role: 'alert', class: 'alarm' }, `The token was not taken: ${why}`),
      h('p', {}, 'This server wants to know who asks: by a bearer token, or by a client certificate of your browser.'),
      form,
    );
  }
}

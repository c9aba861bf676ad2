/** The two pages that a login link shows. No script and no style: nothing that a CSP must allow. */

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => escapes[char] ?? '')

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head><body><main><h1>${escapeHtml(title)}</h1>${body}</main></body></html>`

/** A preview of the link in a chat fetches this page; only the button redeems the link. */
export const loginPage = (token: string): string =>
  page(
    'Log in to Guildhall',
    `<form method="post" action="/login"><input type="hidden" name="login_token" value="${escapeHtml(token)}"><button type="submit">Log in</button></form><p>This link works once.</p>`,
  )

export const loggedInPage = (username: string): string =>
  page('Logged in', `<p>You are logged in as ${escapeHtml(username)}. You can close this page.</p>`)

export const loginFailedPage = (message: string): string =>
  page('Not logged in', `<p>${escapeHtml(message)}</p>`)

import { TITLE_MAX_CHARS } from '@guildhall/contracts'

/** Reads what a stranger wrote: everything may be missing, of another type, or hostile. */

type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {} // checked just before

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const NOT_PRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g

/** Cut to a length, but never through a character. */
const cut = (text: string, max_chars: number): string =>
  text.slice(0, max_chars).replace(/[\ud800-\udbff]$/, '')

/** One line of well-formed text; undefined where nothing is left. */
const plainText = (value: unknown, max_chars: number): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  // Cut before the replacement too: the text may be megabytes long.
  const line = String(value)
    .slice(0, max_chars * 2)
    .replace(NOT_PRINTABLE, ' ')
    .trim()
  // The round trip replaces what no encoding can carry: half a surrogate pair.
  const text = Buffer.from(cut(line, max_chars)).toString('utf8')
  return text === '' ? undefined : text
}

const WORD_MAX_CHARS = 100
const EVENT_TYPE_MAX_CHARS = 200

export const word = (value: unknown): string | undefined => plainText(value, WORD_MAX_CHARS)
export const eventType = (value: unknown): string | undefined =>
  plainText(value, EVENT_TYPE_MAX_CHARS)

const titleOf = (start: readonly (string | undefined)[], rest: unknown): string => {
  const head = start.filter((part) => part !== undefined).join(' ')
  const tail = plainText(rest, TITLE_MAX_CHARS)
  return cut(tail === undefined ? head : `${head} — ${tail}`, TITLE_MAX_CHARS)
}

interface Subject {
  readonly kind: 'PR' | 'MR' | 'Issue'
  readonly number: unknown
  readonly action: unknown
  readonly repo: unknown
  readonly title: unknown
}

/** `PR #7 opened in octo/repo — Fix the roof` */
export const subjectTitle = ({ kind, number, action, repo, title }: Subject): string => {
  const digits = word(number)
  const name = word(repo)
  return titleOf(
    [
      kind,
      digits === undefined ? undefined : `#${digits}`,
      word(action),
      name === undefined ? undefined : `in ${name}`,
    ],
    title,
  )
}

/** `github push in octo/repo` */
export const eventTitle = (provider: string, event: string | undefined, repo: unknown): string => {
  const name = word(repo)
  return titleOf([provider, event ?? 'event', name === undefined ? undefined : `in ${name}`], '')
}

export const selfManagedTitle = (type: string): string => `self-managed ${type} delivery`
export const itemTitle = (start: readonly (string | undefined)[], rest: unknown): string =>
  titleOf(start, rest)

import { GOAL_SLUG_MAX_CHARS, GOAL_SLUG_SUFFIX_MAX } from '@guildhall/contracts'

/** Names of goals in channels and queues: `goal-<slug>`. */

const SEPARATORS = /[\s\-_/.]+/g
const DROPPED = /[^a-z0-9-]/g
const DASHES = /-+/g
const OUTER_DASHES = /^-+|-+$/g

const cut = (slug: string, max: number): string => slug.slice(0, max).replace(OUTER_DASHES, '')

export const slugOf = (title: string): string => {
  const slug = title
    .toLowerCase()
    .replace(SEPARATORS, '-')
    .replace(DROPPED, '')
    .replace(DASHES, '-')
    .replace(OUTER_DASHES, '')
  return cut(slug, GOAL_SLUG_MAX_CHARS) || 'goal'
}

/** In the order of preference: the slug itself, then with -2, -3 and so on, each short enough. */
export const slugCandidates = (title: string): readonly string[] => {
  const slug = slugOf(title)
  return Array.from({ length: GOAL_SLUG_SUFFIX_MAX }, (_, i) => {
    if (i === 0) return slug
    const suffix = `-${i + 1}`
    return `${cut(slug, GOAL_SLUG_MAX_CHARS - suffix.length)}${suffix}`
  })
}

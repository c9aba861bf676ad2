/**
 * A command line as program and arguments. There is no shell behind it: no variables, no globs, no
 * pipes, no substitution. What a shell would act upon is an ordinary character here.
 *
 * Spaces separate; '…' takes everything literally; "…" takes everything but \" and \\ literally;
 * outside of quotes a backslash takes the next character literally.
 */

const ARGUMENTS_MAX = 100
const SPACE = /\s/

/** The arguments, or why the line cannot be read. */
type Split = { readonly argv: string[] } | { readonly problem: string }

export const splitCommand = (line: string): Split => {
  const argv: string[] = []
  // undefined between arguments: an empty pair of quotes is an argument, a space is none.
  let word: string | undefined
  let quote: '"' | "'" | undefined
  for (let i = 0; i < line.length; i += 1) {
    const char = line.charAt(i)
    const next = line.charAt(i + 1)
    if (quote !== undefined) {
      if (char === quote) quote = undefined
      else if (quote === '"' && char === '\\' && (next === '"' || next === '\\')) {
        word = `${word ?? ''}${next}`
        i += 1
      } else word = `${word ?? ''}${char}`
    } else if (char === '"' || char === "'") {
      quote = char
      word ??= ''
    } else if (char === '\\') {
      if (next === '') return { problem: 'it ends in a backslash' }
      word = `${word ?? ''}${next}`
      i += 1
    } else if (SPACE.test(char)) {
      if (word !== undefined) argv.push(word)
      word = undefined
    } else word = `${word ?? ''}${char}`
  }
  if (quote !== undefined) return { problem: `a ${quote} is not closed` }
  if (word !== undefined) argv.push(word)
  if (argv.length === 0 || argv[0] === '') return { problem: 'it names no program' }
  if (argv.length > ARGUMENTS_MAX) return { problem: `it has more than ${ARGUMENTS_MAX} words` }
  if (line.includes('\u0000')) return { problem: 'it holds a NUL character' }
  return { argv }
}

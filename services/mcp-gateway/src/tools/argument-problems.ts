import { type JsonSchema, ServiceError } from '@guildhall/contracts'
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Validate } from './compile-schema.ts'

/** Turns what the validator found into sentences that say where, what, and what is allowed. */

interface ArgumentProblem {
  readonly path: string
  readonly problem: string
}

const PROBLEMS_MAX = 10
const SHOWN_MAX_CHARS = 60

const shown = (text: string): string =>
  JSON.stringify(text.length > SHOWN_MAX_CHARS ? `${text.slice(0, SHOWN_MAX_CHARS)}...` : text)

const pathOf = ({ instancePath }: ErrorObject): string =>
  instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')

const typeList = (type: unknown): string => (Array.isArray(type) ? type.join(' or ') : `${type}`)

const allowedKeys = (schema: JsonSchema, path: string): string => {
  if (path !== '') return ''
  const keys = Object.keys(schema.properties ?? {})
  return keys.length === 0 ? '; none is allowed' : `; allowed: ${keys.join(', ')}`
}

const sentence = (error: ErrorObject, schema: JsonSchema, path: string): string => {
  const { keyword, params, message } = error
  switch (keyword) {
    case 'additionalProperties':
      return `unknown argument ${shown(params.additionalProperty)}${allowedKeys(schema, path)}`
    case 'required':
      return `the argument "${params.missingProperty}" is required`
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    case 'type':
      return `must be ${typeList(params.type)}`
    case 'anyOf':
      return 'must have one of the allowed forms'
    default:
      return message ?? 'is not valid'
  }
}

const problemsOf = (schema: JsonSchema, errors: readonly ErrorObject[]): ArgumentProblem[] =>
  errors.slice(0, PROBLEMS_MAX).map((error) => {
    const path = pathOf(error)
    return { path, problem: sentence(error, schema, path) }
  })

/** Throws `invalid_argument` with every problem, unless the arguments are valid. */
export const checkArguments = (schema: JsonSchema, validate: Validate, value: unknown): void => {
  if (validate(value)) return
  const problems = problemsOf(schema, validate.errors ?? [])
  const text = problems.map(({ path, problem }) => (path === '' ? problem : `${path}: ${problem}`))
  throw new ServiceError('invalid_argument', text.join('; '), { details: { problems } })
}

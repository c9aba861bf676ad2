import type { JsonSchema } from '@guildhall/contracts'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'

/** Schemas of operations as functions, compiled once. */

const ajv = new Ajv2020({
  allErrors: true,
  allowUnionTypes: true,
  strict: true,
  formats: {
    'date-time': z.regexes.datetime({}),
    cidrv4: z.regexes.cidrv4,
    cidrv6: z.regexes.cidrv6,
  },
})

export type Validate = ValidateFunction

export const compileSchema = (schema: JsonSchema): Validate => ajv.compile(schema)

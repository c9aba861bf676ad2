import type { SourceType } from '@guildhall/contracts'
import { generic } from './generic.ts'
import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { linear } from './linear.ts'
import { slack } from './slack.ts'
import type { Source } from './source.ts'
import { standard } from './standard.ts'
import { stripe } from './stripe.ts'

/** Every kind of sender. A new one is a file here, a line there, and its name in the contracts. */
export const sources: Readonly<Record<SourceType, Source>> = {
  github,
  gitea,
  gitlab,
  stripe,
  slack,
  linear,
  standard,
  generic,
}

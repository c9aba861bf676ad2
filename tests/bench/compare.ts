import type { Bench, Row, Target } from './benchmark.ts'
import {
  type Arm,
  interleave,
  type Measured,
  type Plan,
  pairedRatio,
  rate,
  summarize,
} from './measure.ts'

interface Reference {
  readonly title: string
  readonly arm: Arm
  readonly target: Target
  readonly note?: string
}

/** Measures ours and its references in turn: a row for each reference. */
export const compare = async (
  { progress }: Pick<Bench, 'progress'>,
  plan: Plan,
  ours: Arm,
  references: readonly Reference[],
  /** What the ratio is of. */
  value: (round: Measured) => number = rate,
): Promise<readonly Row[]> => {
  const measured = await interleave([ours, ...references.map(({ arm }) => arm)], plan, progress)
  const rounds = measured.get(ours) ?? []
  return references.map(({ title, arm, target, note }) => {
    const others = measured.get(arm) ?? []
    const ratio = pairedRatio(rounds, others, value)
    return {
      title,
      ours: summarize(ours.label, rounds),
      reference: summarize(arm.label, others),
      ratio,
      value: ratio,
      target,
      ...(note === undefined ? {} : { note }),
    }
  })
}

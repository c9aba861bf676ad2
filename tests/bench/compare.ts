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

interface Pair {
  readonly title: string
  readonly ours: Arm
  readonly reference: Arm
  readonly target: Target
}

/** Measures all arms in turn, in the order in which the pairs name them: a row for each pair. */
export const compare = async (
  { progress }: Pick<Bench, 'progress'>,
  plan: Plan,
  pairs: readonly Pair[],
  /** What the ratio is of. */
  value: (round: Measured) => number = rate,
): Promise<readonly Row[]> => {
  const arms = [...new Set(pairs.flatMap(({ ours, reference }) => [ours, reference]))]
  const measured = await interleave(arms, plan, progress)
  return pairs.map(({ title, ours, reference, target }) => {
    const [a, b] = [measured.get(ours) ?? [], measured.get(reference) ?? []]
    const ratio = pairedRatio(a, b, value)
    return {
      title,
      ours: summarize(ours.label, a),
      reference: summarize(reference.label, b),
      ratio,
      value: ratio,
      target,
    }
  })
}

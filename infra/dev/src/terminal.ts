// Colours only where somebody looks: on a terminal, unless NO_COLOR asks for none.

const enabled = process.stdout.isTTY === true && !process.env.NO_COLOR

const paint =
  (code: number) =>
  (text: string): string =>
    enabled ? `\u001b[${code}m${text}\u001b[0m` : text

export const bold = paint(1)
export const dim = paint(2)
export const red = paint(31)
export const green = paint(32)
export const yellow = paint(33)
export const cyan = paint(36)

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

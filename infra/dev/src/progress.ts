/** What the supervisor tells the `up` that waits for it, over the channel between them. */
export type Progress =
  | { type: 'step'; text: string; took_ms: number }
  | { type: 'ready' }
  | { type: 'failed'; message: string }

/** Nobody may be listening any more: `up` goes away when all is ready, or when it is interrupted. */
export const tell = (message: Progress): void => {
  if (process.connected) process.send?.(message, undefined, {}, () => {})
}

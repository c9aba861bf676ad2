import type { StreamMessage } from '@guildhall/bus'

/** What the writer calls the event; its place in the stream where the writer did not say. */
export const eventIdOf = ({ headers, stream_sequence }: StreamMessage): string =>
  headers['Nats-Msg-Id'] ?? `sequence-${stream_sequence}`

/** What a todo carries in every comparison: a small work order of about 500 bytes. */
export const payload = {
  repository: 'example/warehouse',
  issue: 1347,
  labels: ['bug', 'priority-2', 'needs-review'],
  text: 'The nightly export counts returned items twice when the return was booked by hand. '.repeat(
    4,
  ),
} as const

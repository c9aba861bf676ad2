/** The demo cannot go on. Both texts are for the person who ran it. */
export class DemoStopped extends Error {
  override readonly name = 'DemoStopped'
  readonly what_to_do: string

  constructor(message: string, what_to_do: string) {
    super(message)
    this.what_to_do = what_to_do
  }
}

/** An answer that the story did not expect ends it: a demo that goes on regardless shows nothing. */
export const expect = (holds: boolean, what: string, got: unknown): void => {
  if (holds) return
  throw new DemoStopped(
    `Expected ${what}, but got: ${JSON.stringify(got)}`,
    'This is a fault of the system. See its logs with `make logs`.',
  )
}

/** A clock that stands still until a test moves it. Fits `Clock` of runtime by its shape. */
export class ManualClock {
  #now_ms: number

  constructor(start_ms: number = Date.UTC(2030, 0, 1)) {
    this.#now_ms = start_ms
  }

  now(): number {
    return this.#now_ms
  }

  advance(by_ms: number): void {
    this.#now_ms += by_ms
  }

  /** Also backwards: clocks do that, and the code under test must survive it. */
  set(to_ms: number): void {
    this.#now_ms = to_ms
  }
}

/** The values of a contract's list, for a CHECK: never written down a second time. */
export const checkList = (values: readonly string[]): string =>
  values.map((value) => `'${value}'`).join(', ')

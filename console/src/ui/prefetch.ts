/** Loads code before it is needed. Ignores a failure: the code is then loaded when it is needed. */
export function prefetch(load: () => Promise<unknown>): void {
  load().catch(() => {})
}

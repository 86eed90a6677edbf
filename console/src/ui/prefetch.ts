/** Loads code before it is needed. Ignores a failure, because the code is loaded again when it is needed. */
export function prefetch(load: () => Promise<unknown>): void {
  load().catch(() => {})
}

/** Loads code before it is needed. A failure, for example because the user leaves the page, is ignored: the code is then loaded when it is needed. */
export function prefetch(load: () => Promise<unknown>): void {
  load().catch(() => {})
}

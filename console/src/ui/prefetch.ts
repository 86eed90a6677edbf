/** Loads code before it is needed. If that fails, for example because the user leaves the page, it is loaded when it is needed. */
export function prefetch(load: () => Promise<unknown>): void {
  load().catch(() => {})
}

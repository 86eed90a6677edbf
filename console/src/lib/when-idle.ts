/** Resolves when the browser is idle, after at most a second. Not all browsers have `requestIdleCallback`. */
export const whenIdle = (): Promise<void> =>
  new Promise((resolve) =>
    typeof requestIdleCallback === 'function'
      ? requestIdleCallback(() => resolve(), { timeout: 1000 })
      : setTimeout(resolve, 200),
  )

/** Resolves when the browser is idle, after at most a second; after 200 ms in browsers without `requestIdleCallback`. */
export const whenIdle = (): Promise<void> =>
  new Promise((resolve) =>
    typeof requestIdleCallback === 'function'
      ? requestIdleCallback(() => resolve(), { timeout: 1000 })
      : setTimeout(resolve, 200),
  )

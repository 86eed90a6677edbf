import type { Page } from 'playwright-core'

/** A change of a page to measure. Both are expressions that run in the page. */
export type Change = {
  /** Starts the change synchronously, such as by a click. */
  start: string
  /** Is truthy when the document contains the change. */
  isDone: string
}

/** Returns an expression that clicks the first element that matches the selector. */
export const click = (selector: string): string => `(() => {
  const element = document.querySelector(${JSON.stringify(selector)})
  if (!element) throw new Error('The page has no ' + ${JSON.stringify(selector)})
  element.click()
})()`

/** Returns the milliseconds from the start of the change to the frame that paints it. The page itself measures them, without the latency of the browser's protocol. */
export const paintedMs = (page: Page, { start, isDone }: Change): Promise<number> =>
  page.evaluate<number>(`new Promise((done, fail) => {
    const startedAt = performance.now()
    const check = () => {
      if (${isDone}) return requestAnimationFrame(() => done(performance.now() - startedAt))
      if (performance.now() - startedAt > 60_000) return fail(new Error(${JSON.stringify(`Never became true: ${isDone}`)}))
      requestAnimationFrame(check)
    }
    ${start}
    requestAnimationFrame(check)
  })`)

/** Waits until the browser has nothing to do. */
export const idle = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestIdleCallback(() => done()))')

import type { Page } from 'playwright-core'

/** How to measure a change of a page. All are expressions that run in the page. */
export type Change = {
  /** Starts the change synchronously, such as by a click. */
  start: string
  /** Whether the change is in the document. */
  isDone: string
}

/** An expression that clicks the first element that matches the selector. */
export const click = (selector: string): string => `(() => {
  const element = document.querySelector(${JSON.stringify(selector)})
  if (!element) throw new Error('The page has no ' + ${JSON.stringify(selector)})
  element.click()
})()`

/** Returns the milliseconds from the start of the change to the frame that paints it. Measured in the page, so that the latency of the browser's protocol is excluded. */
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

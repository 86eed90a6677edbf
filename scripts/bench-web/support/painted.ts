import type { Page } from 'playwright-core'

/** A change of a page to measure. Both fields are expressions that run in the page. */
export type Change = {
  /** Starts the change synchronously, such as by a click. */
  start: string
  /** Is truthy when the document contains the change. */
  isDone: string
}

/** After this time, a measurement fails. */
const maxMs = 60_000

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
    // A timer, because a page in the background draws no frames.
    const failing = setTimeout(
      () => fail(new Error(${JSON.stringify(`Not painted within ${maxMs} ms: ${isDone}`)} + ', the page is ' + document.visibilityState)),
      ${maxMs})
    const finish = () => {
      clearTimeout(failing)
      done(performance.now() - startedAt)
    }
    const check = () => requestAnimationFrame((${isDone}) ? finish : check)
    void (${start})
    requestAnimationFrame(check)
  })`)

/** After this time, a page counts as idle: on a busy machine, its animations may leave no idle time between two frames. */
const maxIdleMs = 5_000

/** Waits until the browser has nothing to do, but for at most `maxIdleMs`. @throws if it has work without a pause for a minute */
export const idle = (page: Page): Promise<unknown> =>
  page.evaluate(`new Promise((done, fail) => {
    setTimeout(() => fail(new Error('Not idle within ${maxMs} ms, the page is ' + document.visibilityState)), ${maxMs})
    requestIdleCallback(() => done(), { timeout: ${maxIdleMs} })
  })`)

import { chromium, type Browser } from 'playwright-core'
import { inject } from 'vitest'
import { connectToShoal, type RunningShoal } from './shoal.ts'

/** Returns the Shoal that all test files of the console share (`e2e/console/global-setup.ts`). */
export const consoleShoal = (): RunningShoal => connectToShoal(inject('consoleShoal'))

/** Connects to the browser that the test files of this worker share. Closing the connection closes all contexts that it opened. */
export function connectToBrowser(): Promise<Browser> {
  const endpoint = inject('consoleBrowsers')[Number(process.env['VITEST_POOL_ID']) - 1]
  if (!endpoint) throw new Error(`There is no browser for the worker ${process.env['VITEST_POOL_ID']}`)
  return chromium.connect(endpoint)
}

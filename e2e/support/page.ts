import type { Page } from 'playwright-core'

/** Waits until an element of the page contains this text or matches the pattern. */
export const waitForText = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()

/** Waits until an element has exactly this text. */
export const waitForExactText = (page: Page, text: string): Promise<void> =>
  page.getByText(text, { exact: true }).first().waitFor()

/** Clicks the button whose name contains this text or matches the pattern. */
export const clickButton = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name }).click()

/** Clicks the button with exactly this name. */
export const clickExactButton = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

/** Returns the text on the clipboard. */
export const clipboard = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()')

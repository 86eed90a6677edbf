import type { Page } from 'playwright-core'

/** Waits until the page shows this text, also as a part of more. */
export const says = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()

/** Waits until the page shows this text and no more in one place. */
export const saysExactly = (page: Page, text: string | RegExp): Promise<void> =>
  page.getByText(text, { exact: true }).first().waitFor()

/** Presses the button of this name, or of one that has it as a part. */
export const press = (page: Page, name: string | RegExp): Promise<void> => page.getByRole('button', { name }).click()

/** Presses the button of just this name. */
export const pressExactly = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

/** What was copied last in this page's browser. */
export const clipboard = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()')

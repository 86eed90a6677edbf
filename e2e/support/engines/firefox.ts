import { existsSync } from 'node:fs'
import puppeteer, { type ElementHandle } from 'puppeteer-core'
import { until } from '../until.ts'
import { elementExpression, fieldExpression, type Engine } from './engine.ts'

const program = '/usr/bin/firefox-esr'

/** Returns a sentence about what this machine lacks for Firefox; null if it lacks nothing. */
export const missingForFirefox = (): string | null =>
  existsSync(program) ? null : 'Firefox needs firefox-esr (apt-get install --no-install-recommends).'

/** Starts Firefox without a window. `errors` receives uncaught errors and error messages on the console of the page. */
export async function startFirefox(errors: string[]): Promise<Engine> {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: program,
    headless: true,
    defaultViewport: { width: 1280, height: 900 },
  })
  const page = await browser.newPage()
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  const find = (expression: string, description: string) =>
    until(async () => (await page.evaluateHandle(expression)).asElement() as ElementHandle | null, description)
  const evaluate = async <T>(expression: string) => (await page.evaluate(expression)) as T
  return {
    name: (await browser.version()).replace('/', ' '),
    page: {
      open: async (url) => void (await page.goto(url)),
      click: async (target) => (await find(elementExpression(target), `${target.join(' ')} is shown`)).click(),
      type: async (label, text) => (await find(fieldExpression(label), `the field ${label} is shown`)).type(text),
      waitFor: async (target) => void (await find(elementExpression(target), `${target.join(' ')} is shown`)),
      waitUntil: async (condition, description) =>
        void (await until(() => evaluate<boolean>(`Boolean(${condition})`), description)),
      evaluate,
      screenshot: async () => Buffer.from(await page.screenshot()),
    },
    close: () => browser.close(),
  }
}

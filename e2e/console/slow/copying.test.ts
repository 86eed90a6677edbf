import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUser, openBrowser } from '../../support/browser.ts'
import { consoleShoal } from '../../support/console-shoal.ts'
import { clickButton, waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const code = 'copying-labs'
const email = 'mira@copying.dev'
const shoal = consoleShoal()
/** The URL of the same Shoal with a host other than localhost, as in a private network without a certificate. */
const plainHttp = new URL(shoal.url)
plainHttp.hostname = 'shoal.test'
let browser: Browser
let token: string

beforeAll(async () => {
  browser = await openBrowser(`--host-resolver-rules=MAP shoal.test ${new URL(shoal.url).hostname}`)
  const { api, context, ...person } = await signInAs(browser, shoal, email)
  token = person.token
  await api.orgs.create({ body: { code, name: 'Copying Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  await deploySimulated({ shoal, org: code, token, api }, { name: 'transfers', slot: 'v1' })
  await context.close()
})

afterAll(async () => {
  await browser?.close()
})

const openVersion = (page: Page) => page.goto(`/squids/transfers/v1?organization=${code}`)

test('over plain HTTP, copy buttons and menus copy, even inside a dialog', async () => {
  const stored = { user_token: token, tmp_invites_checked: 'true' }
  const context = await newUser(browser, { ...shoal, url: plainHttp.origin }, stored)
  const page = await context.newPage()
  await openVersion(page)
  expect(await page.evaluate('isSecureContext')).toBe(false)
  // A page in the same browser with a secure origin can read the clipboard.
  const reader = await context.newPage()
  await reader.goto(shoal.url)
  const readClipboard = async () => {
    await reader.bringToFront()
    const text = await reader.evaluate<string>('navigator.clipboard.readText()')
    await page.bringToFront()
    return text
  }
  await clickButton(page, 'Copy reference')
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  await expect.poll(() => readClipboard()).toBe('transfers@v1')
  await clickButton(page, 'Copy endpoint')
  await waitForText(page, 'Endpoint copied')
  await expect.poll(() => readClipboard()).toBe(`${shoal.gatewayUrl}/${code}/transfers@v1/api/graphql`)

  await page.goto(`/profile/api-tokens/create?organization=${code}`)
  await page.getByLabel('Token name').fill('laptop')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: /^Copy/ }).first().click()
  await dialog.getByRole('button', { name: 'Copied' }).waitFor()
  await expect.poll(() => readClipboard()).toMatch(/^shoal_/)
  await context.close()
})

test('the page says that the text could not be copied if the browser refuses to copy', async () => {
  const { page, context } = await signInAs(browser, shoal, email)
  await page.addInitScript(`
    navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError'))
    document.execCommand = () => false
  `)
  await openVersion(page)
  await clickButton(page, 'Copy reference')
  await waitForText(page, 'The text could not be copied')
  await expect.poll(() => page.getByRole('button', { name: 'Copied' }).count()).toBe(0)
  await context.close()
})

import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { consoleShoal } from '../support/console-shoal.ts'
import { signInAs } from '../support/people.ts'
import { deploySimulated } from '../support/simulated-squid.ts'

const shoal = consoleShoal()
const code = 'data-ahead-labs'
const reference = 'lending@v1'
let browser: Browser
let page: Page

beforeAll(async () => {
  browser = await openBrowser()
  const person = await signInAs(browser, shoal, 'mira@ahead.dev')
  page = person.page
  await person.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'mira@ahead.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const deployer = { shoal, org: code, token: person.token, api: person.api }
  await deploySimulated(deployer, { name: 'lending', slot: 'v1' })
})

afterAll(async () => {
  await browser?.close()
})

const isApi = (request: Request, path: string) => request.url().includes(`/orgs/${code}/${path}`)
const openList = async () => {
  await page.goto(`/squids?organization=${code}`)
  await page.locator(`[data-row="${reference}"]`).waitFor()
}

test('the list needs at most 14 requests before its first row', async () => {
  const requests: string[] = []
  const record = (request: Request) => void requests.push(request.url())
  page.on('request', record)
  await openList()
  page.off('request', record)
  expect(requests.filter((url) => !url.startsWith('data:')).length, requests.join('\n')).toBeLessThanOrEqual(14)
})

test('a hovered link loads the data of its page', async () => {
  await openList()
  const version = page.waitForRequest((request) => isApi(request, `squids/${reference}`))
  const deployments = page.waitForRequest((request) => isApi(request, 'deployments?squidId='))
  await page.locator(`[data-row="${reference}"] a`).first().hover()
  await Promise.all([version, deployments])
  const secrets = page.waitForRequest((request) => isApi(request, 'secrets'))
  await page.getByRole('link', { name: 'Secrets' }).first().hover()
  await secrets
  expect(new URL(page.url()).pathname).toBe('/squids')
})

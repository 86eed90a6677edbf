import type { Client, Contract } from '@shoal/contract'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { newPerson, openBrowser } from '../support/browser.ts'
import { startDay, type Day } from '../support/day.ts'
import { says } from '../support/page.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

/** The most common use, on the real engine: a deployment with the public client, watched in the console. */

let day: Day
let sqd: PublicClient
let browser: Browser
let page: Page
let api: Client<Contract>

const reference = 'erc20-transfers@v1'

beforeAll(async () => {
  ;[day, sqd, browser] = await Promise.all([startDay({ prebuilt: 'dependencies' }), openClient(), openBrowser()])
  const { shoal, org, token } = day
  const body = { email: `admin@${org}.dev`, password: 'correct-horse' }
  const secrets = [{ action: 'UPDATE' as const, name: 'RPC_URL', value: day.devnet.rpcUrl }]
  const [session] = await Promise.all([
    shoal.as('').auth.signIn({ body }),
    sqd('auth', '-k', token, '-h', `${shoal.url}/api`),
    day.api.secrets.change({ params: { code: org }, body: { secrets } }),
  ])
  api = shoal.as(session.token)
  const onboardingForm = { occupation: 'Analyst', source: 'Google', usage: 'DeFi' }
  await api.user.completeOnboarding({ body: { policyAccepted: true, onboardingForm } })
  const context = await newPerson(browser, shoal, { user_token: session.token, tmp_invites_checked: 'true' })
  page = await context.newPage()
  // Another test covers the tour.
  await page.addInitScript("localStorage.setItem('onboardingGuide', '100')")
})

afterAll(async () => {
  await browser?.close()
  sqd?.close()
  await day?.end()
})

const squid = () => api.squids.get({ params: { code: day.org, reference } })
const tab = (name: string) => page.getByRole('navigation', { name: 'Version' }).getByRole('link', { name }).click()
const row = (text: string | RegExp) => page.getByRole('row').filter({ hasText: text })
const confirm = (name: string) => page.getByRole('alertdialog').getByRole('button', { name }).click()
async function act(name: string) {
  await page
    .getByRole('button', { name: /^(More actions|Actions)/ })
    .first()
    .click()
  await page.getByRole('menuitem', { name: new RegExp(`^${name}`) }).click()
}

test('from an empty list to a deleted version', async () => {
  await page.goto(`/squids?organization=${day.org}`)
  await page.getByRole('heading', { name: 'Squids', exact: true }).waitFor()
  const automatic = ['--allow-manifest-override', '--no-interactive', '--no-stream-logs']
  const deploying = sqd('deploy', day.project, '-o', day.org, '-s', 'v1', ...automatic)
  // It appears without a reload, is built and started.
  await row('@v1').waitFor({ timeout: 60_000 })
  await row('@v1').getByText('Deploying').waitFor()
  const { code, stdout, stderr } = await deploying
  expect(code, stdout + stderr).toBe(0)
  await row('@v1').getByText('Healthy').waitFor({ timeout: 60_000 })
  await row('@v1').getByRole('link').first().click()
  await page.getByRole('heading', { name: /^erc20-transfers@v1/ }).waitFor()

  await tab('Logs')
  await says(page, 'Live')
  await row(/processor/)
    .first()
    .waitFor()
  await day.devnet.chain.transfer(3)
  const transfers = await day.devnet.chain.countTransfers()
  const endpoint = day.endpointOf(reference)
  await until(async () => (await totalTransfers(endpoint)) === transfers, 'the new transfers are indexed')

  await page.getByRole('link', { name: 'GraphQL playground' }).click()
  await page.locator('.graphiql-doc-explorer-root-type').first().waitFor()
  // The browser queries the squid directly, although its origin differs from the console's.
  expect(await page.getByText('so Shoal forwards your queries').count()).toBe(0)
  await page.locator('.graphiql-query-editor .view-lines').click()
  await page.keyboard.insertText('{ transfersConnection(orderBy: id_ASC) { totalCount } }')
  await page.getByRole('button', { name: /^Execute query/ }).click()
  await page.locator('.result-window').getByText(`${transfers}`, { exact: true }).waitFor()
  await page.goBack()

  await act('Hibernate')
  await confirm('Hibernate')
  await says(page, 'Hibernated')
  expect(await totalTransfers(endpoint)).toBeNull()
  await act('Restart')
  await until(async () => (await totalTransfers(endpoint)) === transfers, 'it answers again')
  await until(async () => (await squid()).status === 'DEPLOYED', 'the restart has ended')
  await says(page, 'Healthy')

  await act('Delete')
  await page.getByRole('alertdialog').getByRole('textbox').fill(reference)
  await confirm('Delete')
  await page.waitForURL(/\/squids(\?|$)/, { timeout: 60_000 })
  await expect.poll(() => row('@v1').count(), { timeout: 30_000 }).toBe(0)
  await expect(squid()).rejects.toMatchObject({ status: 404 })
}, 170_000)

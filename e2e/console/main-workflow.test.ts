import type { Client, Contract } from '@shoal/contract'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { connectToBrowser } from '../support/console-shoal.ts'
import { newUser } from '../support/browser.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { waitForText } from '../support/page.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

// The most common workflow, with real builds and containers: a user deploys with the public client and watches the deployment in the console.

let cloud: TestCloud
let sqd: PublicClient
let browser: Browser
let page: Page
let api: Client<Contract>

const reference = 'erc20-transfers@v1'

beforeAll(async () => {
  ;[cloud, sqd, browser] = await Promise.all([
    startTestCloud({ prebuilt: 'dependencies' }),
    openClient(),
    connectToBrowser(),
  ])
  const { shoal, org, token } = cloud
  const body = { email: `admin@${org}.dev`, password: 'correct-horse' }
  const [session] = await Promise.all([
    shoal.as('').auth.signIn({ body }),
    sqd('auth', '-k', token, '-h', `${shoal.url}/api`),
    cloud.setRpcUrl(),
  ])
  api = shoal.as(session.token)
  const onboardingForm = { occupation: 'Analyst', source: 'Google', usage: 'DeFi' }
  await api.user.completeOnboarding({ body: { policyAccepted: true, onboardingForm } })
  const context = await newUser(browser, shoal, { user_token: session.token, tmp_invites_checked: 'true' })
  page = await context.newPage()
  // Another test covers the tour.
  await page.addInitScript("localStorage.setItem('onboardingGuide', '100')")
})

afterAll(async () => {
  await browser?.close()
  sqd?.close()
  await cloud?.end()
})

const squid = () => api.squids.get({ params: { code: cloud.org, reference } })
const tab = (name: string) => page.getByRole('navigation', { name: 'Version' }).getByRole('link', { name }).click()
const row = (text: string | RegExp) => page.getByRole('row').filter({ hasText: text })
const confirm = (name: string) => page.getByRole('alertdialog').getByRole('button', { name }).click()
async function chooseAction(name: string) {
  await page
    .getByRole('button', { name: /^(More actions|Actions)/ })
    .first()
    .click()
  await page.getByRole('menuitem', { name: new RegExp(`^${name}`) }).click()
}

test('a user deploys, queries, hibernates, restarts and deletes a version', async () => {
  await page.goto(`/squids?organization=${cloud.org}`)
  await page.getByRole('heading', { name: 'Squids', exact: true }).waitFor()
  const nonInteractive = ['--allow-manifest-override', '--no-interactive', '--no-stream-logs']
  const clientRun = sqd('deploy', cloud.project, '-o', cloud.org, '-s', 'v1', ...nonInteractive)
  // The version appears without a reload.
  await row('@v1').waitFor()
  const { code, stdout, stderr } = await clientRun
  expect(code, stdout + stderr).toBe(0)
  await row('@v1').getByText('Healthy').waitFor()
  await row('@v1').getByRole('link').first().click()
  await page.getByRole('heading', { name: /^erc20-transfers@v1/ }).waitFor()

  await tab('Logs')
  await waitForText(page, 'Live')
  await row(/processor/)
    .first()
    .waitFor()
  await cloud.devnet.chain.transfer(3)
  const transfers = await cloud.devnet.chain.countTransfers()
  const endpoint = cloud.endpointOf(reference)
  await until(async () => (await totalTransfers(endpoint)) === transfers, 'the new transfers are indexed')

  await page.getByRole('link', { name: 'GraphQL playground' }).click()
  await page.locator('.graphiql-doc-explorer-root-type').first().waitFor()
  // The browser queries the squid directly, although the squid and the console have different origins.
  await expect.poll(() => page.getByText('so Shoal forwards your queries').count()).toBe(0)
  await page.locator('.graphiql-query-editor .view-lines').click()
  await page.keyboard.insertText('{ transfersConnection(orderBy: id_ASC) { totalCount } }')
  await page.getByRole('button', { name: /^Execute query/ }).click()
  await page.locator('.result-window').getByText(`${transfers}`, { exact: true }).waitFor()
  await page.goBack()

  await chooseAction('Hibernate')
  await confirm('Hibernate')
  await waitForText(page, 'Hibernated')
  expect(await totalTransfers(endpoint)).toBeNull()
  await chooseAction('Restart')
  await until(async () => (await totalTransfers(endpoint)) === transfers, 'the squid responds again')
  await until(async () => (await squid()).status === 'DEPLOYED', 'the restart has ended')
  await waitForText(page, 'Healthy')

  await chooseAction('Delete')
  await page.getByRole('alertdialog').getByRole('textbox').fill(reference)
  await confirm('Delete')
  await page.waitForURL(/\/squids(\?|$)/)
  await expect.poll(() => row('@v1').count()).toBe(0)
  await expect(squid()).rejects.toMatchObject({ status: 404 })
})

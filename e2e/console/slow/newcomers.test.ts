import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUser } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { waitForText } from '../../support/page.ts'
import { newestLink, password, signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const code = 'newcomer-labs'
const email = 'boss@newcomers.dev'
const shoal = consoleShoal()
let browser: Browser
let boss: Awaited<ReturnType<typeof signInAs>>

beforeAll(async () => {
  browser = await connectToBrowser()
  boss = await signInAs(browser, shoal, email)
  await boss.api.orgs.create({ body: { code, name: 'Newcomer Labs', email } })
})

afterAll(async () => {
  await browser?.close()
})

test('after an invitation link, the sign-in pages name the organization and fill in the email', async () => {
  const invited = 'invited@newcomers.dev'
  await boss.api.orgs.inviteMember({ params: { code }, body: { email: invited, roleType: 'viewer' } })
  const link = await newestLink(shoal, invited)
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
  await page.goto(link)
  await waitForText(page, `To accept the invitation to ${code}.`)
  const field = page.getByLabel('Work email')
  await expect.poll(() => field.inputValue()).toBe(invited)
  await page.getByRole('link', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Create account' }).waitFor()
  await waitForText(page, `To accept the invitation to ${code}.`)
  await expect.poll(() => field.inputValue()).toBe(invited)

  await shoal.cli('user', 'add', '--email', invited, '--name', 'Ina', '--password-stdin', { input: password })
  const { token } = await shoal.as('').auth.signIn({ body: { email: invited, password } })
  const onboardingForm = { occupation: 'Analyst', source: 'Google', usage: 'DeFi' }
  await shoal.as(token).user.completeOnboarding({ body: { policyAccepted: true, onboardingForm } })
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await waitForText(page, 'Invitation accepted!')
  expect(new URL(page.url()).search).toBe(`?organization=${code}`)
  await context.close()
})

test('until the organization is active, the deploy guide says that deployments are refused', async () => {
  const { page } = boss
  const refusal = page.getByText('Shoal refuses deployments to this organization until a card is added')
  await page.goto(`/squids/deploy?organization=${code}`)
  await refusal.waitFor()
  await waitForText(page, 'secrets.RPC_URL')
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  await page.reload()
  await waitForText(page, 'For a step-by-step guide to squids')
  await expect.poll(() => refusal.count()).toBe(0)
})

test('in the last step of the tour, the popover covers no navigation link', async () => {
  const { page, context } = await signInAs(browser, shoal, 'nora@newcomers.dev', { hasTour: true })
  await page.addInitScript(() => localStorage.setItem('onboardingGuide', '3'))
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto('/squids')
  const popover = page.locator('.driver-popover')
  await popover.getByText('4 / 4').waitFor()
  const box = await popover.boundingBox()
  const navigation = await page.getByRole('navigation', { name: 'Main' }).boundingBox()
  expect(box?.x).toBeGreaterThan((navigation?.x ?? 0) + (navigation?.width ?? 0))
  await context.close()
})

test('the cost of a version drops when it is hibernated', async () => {
  const { page, token, api } = boss
  await deploySimulated({ shoal, org: code, token, api }, { name: 'transfers', slot: 'v1' })
  const params = { code, reference: 'transfers@v1' }
  // Wait until the cost includes a program, since the page polls only every minute, and Shoal must first observe the program.
  await expect.poll(async () => Number((await api.billing.getSquidCost({ params })).perHourUsd)).toBeGreaterThan(0.01)
  await page.goto(`/squids/transfers/v1?organization=${code}`)
  const perHour = page.locator('dl > div', { hasText: 'Per hour now' }).locator('dd')
  const perHourUsd = async () => Number((await perHour.innerText()).replace('$', ''))
  await expect.poll(perHourUsd).toBeGreaterThan(0.01)
  // The page requests the cost once when it shows the hibernation, and then only every minute. It shows the hibernation only after
  // Shoal has observed the end of the program.
  const observed = Promise.withResolvers<void>()
  await page.route(/\/squids\/transfers(@|%40)v1\?/, (route) => observed.promise.then(() => route.continue()))
  await api.squids.hibernate({ params })
  await expect.poll(async () => Number((await api.billing.getSquidCost({ params })).perHourUsd)).toBeLessThan(0.01)
  observed.resolve()
  await waitForText(page, 'This version is hibernated')
  // Only the disk still costs money. The limit is below the minute between two polls, because the page must not wait for a poll.
  await expect.poll(perHourUsd, { timeout: 20_000 }).toBeLessThan(0.01)
  await page.unrouteAll({ behavior: 'wait' })
})

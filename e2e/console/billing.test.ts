import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { complaints, keepShot, openBrowser, seriousFlaws, themes, widths } from '../support/browser.ts'
import { personAs } from '../support/people.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'

let shoal: Shoal
let browser: Browser
let admin: Awaited<ReturnType<typeof personAs>>
let viewer: Awaited<ReturnType<typeof personAs>>

const code = 'acme-labs'

beforeAll(async () => {
  shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
  browser = await openBrowser()
  admin = await personAs(browser, shoal, 'ada@acme.dev')
  viewer = await personAs(browser, shoal, 'vic@acme.dev')
  await admin.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'ada@acme.dev' } })
  const invited = { email: 'vic@acme.dev', roleType: 'viewer' } as const
  const { id } = await admin.api.orgs.inviteMember({ params: { code }, body: invited })
  await viewer.api.orgs.acceptInvite({ params: { code, id: String(id) } })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await shoal?.end()
})

const says = (page: Page, text: string) => page.getByText(text, { exact: true }).first().waitFor()
const open = (page: Page, path: string) => page.goto(`${path}?organization=${code}`)
const setStatus = (status: string) => shoal.cli('org', 'set-status', '--code', code, '--status', status)
const status = async () => (await admin.api.orgs.get({ params: { code } })).status

async function enterCard(page: Page, number: string) {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry').fill('04/31')
  await page.getByLabel('CVC').fill('123')
  await page.getByRole('button', { name: 'Save card' }).click()
}

test('a card makes the organization professional, whatever was refused before', async () => {
  const { page } = admin
  await open(page, '/billing')
  await says(page, 'Upgrade to Pro')
  expect(await page.getByRole('button', { name: 'Save card' }).getAttribute('aria-disabled')).toBe('true')
  await enterCard(page, '4000 0000 0000 0002')
  await says(page, 'Some unexpected error occurred!')
  expect(await status()).toBe('DRAFT')
  await enterCard(page, '4000 0025 0000 3155')
  const bank = page.getByRole('dialog', { name: 'Your bank asks for confirmation' })
  await bank.waitFor()
  expect(await seriousFlaws(page)).toEqual([])
  await bank.getByRole('button', { name: 'Complete authentication' }).click()
  await says(page, 'Billing information has been updated.')
  await says(page, '•••• 3155')
  expect(await status()).toBe('ACTIVE')
  await says(page, 'Professional')
})

test('billing details are checked in the words of the specification', async () => {
  const { page } = admin
  await open(page, '/billing')
  await page.getByRole('button', { name: 'Save details' }).click()
  for (const text of ['Name is required', 'Email is required', 'Address is required', 'City is required'])
    await says(page, text)
  await says(page, 'ZIP code is required')
  await says(page, 'Country is required')
  expect(await seriousFlaws(page)).toEqual([])
  const details = { Name: 'Acme Labs AG', 'Billing email': 'pay@acme.dev', Address: 'Seestrasse 1', City: 'Zug' }
  for (const [label, value] of Object.entries({ ...details, 'ZIP code': '6300', Country: 'CH' }))
    await page.getByLabel(label, { exact: true }).fill(value)
  await page.getByRole('button', { name: 'Save details' }).click()
  await says(page, 'Billing information has been updated.')
  const { billingDetails } = await admin.api.orgs.get({ params: { code } })
  expect(billingDetails).toMatchObject({ name: 'Acme Labs AG', country: 'CH', postalCode: '6300' })
})

test('what is due is said on every page of billing, to every role', async () => {
  for (const [standing, text] of [
    ['PAYMENT_ISSUES', "Payment method couldn't be charged. Please update it."],
    ['IN_DEBT', 'Payment is overdue. Please update your card details.'],
  ] as const) {
    await setStatus(standing)
    for (const path of ['/billing', '/billing/usage', '/billing/limits']) {
      await open(viewer.page, path)
      await says(viewer.page, text)
      expect(await viewer.page.getByRole('button', { name: 'Pay now' }).count()).toBe(0)
    }
  }
  await open(viewer.page, '/billing')
  await says(viewer.page, 'Payment methods management is available for users with Admin role')
  expect(await viewer.page.getByLabel('Card number').count()).toBe(0)
  await setStatus('ACTIVE')
})

test('a month without usage says so; caps are kept', async () => {
  const { page } = admin
  await open(page, '/billing/usage')
  await says(page, 'No usage during this period')
  await page.getByText('Per squid').click()
  await expect.poll(() => new URL(page.url()).searchParams.get('bySquid')).toBe('true')

  await open(page, '/billing/limits')
  await page.getByLabel('Spend cap, USD').fill('a lot')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await says(page, 'An amount in dollars, as in 100 or 99.50')
  await page.getByLabel('Spend cap, USD').fill('99.50')
  await page.getByText('Hibernate squids').click()
  await page.getByRole('button', { name: 'Save limits' }).click()
  await says(page, 'The limits have been changed')
  const limits = await admin.api.billing.getLimits({ params: { code } })
  expect([Number(limits.spendCapUsd), limits.atCap]).toEqual([99.5, 'hibernate'])
})

test('the calculator multiplies what the price list says', async () => {
  const { page } = admin
  await open(page, '/billing')
  const [prices] = await admin.api.billing.getPrices({})
  const hourOf = (type: string) => Number(prices?.rates.find((rate) => rate.type === type)?.rateUsd)
  for (const [label, value] of Object.entries({ API: '2', Processors: '0', Postgres: '0', Hasura: '0' }))
    await page.getByLabel(`Number of ${label}`, { exact: true }).fill(value)
  await page.getByLabel('Database storage, GB').fill('0')
  const cents = (2 * 720 * hourOf('api.small')).toFixed(2)
  await expect.poll(() => page.getByText(`$${cents}`, { exact: true }).count()).toBeGreaterThan(0)
})

test('the pages of billing are accessible in both themes and at every width', async () => {
  const { page } = admin
  const flaws: Record<string, string[]> = {}
  for (const [shot, path] of [
    ['billing', '/billing'],
    ['billing-usage', '/billing/usage'],
    ['billing-limits', '/billing/limits'],
  ] as const) {
    await open(page, path)
    await expect.poll(() => page.locator('[aria-busy=true], [aria-label=Loading]').count()).toBe(0)
    for (const theme of themes) {
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`)
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 })
        await keepShot(page, `${shot}-${theme}-${width}`)
        const found = await seriousFlaws(page)
        if (found.length > 0) flaws[`${shot}, ${theme}, ${width} px`] = found
        const overflowPx = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
        expect(overflowPx, `${shot} is wider than ${width} px`).toBeLessThanOrEqual(0)
      }
    }
  }
  expect(flaws).toEqual({})
  expect(complaints).toEqual([])
})

test('a playground has no billing', async () => {
  const person = await personAs(browser, shoal, 'solo@acme.dev')
  await person.page.goto('/billing')
  await expect.poll(() => new URL(person.page.url()).pathname).toBe('/squids')
})

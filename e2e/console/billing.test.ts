import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { complaints, flawsOfLooks, keepShot, openBrowser, seriousFlaws } from '../support/browser.ts'
import { consoleShoal } from '../support/console-shoal.ts'
import { saysExactly as says } from '../support/page.ts'
import { personAs } from '../support/people.ts'
import { played } from '../support/played-squid.ts'

const shoal = consoleShoal()
let browser: Browser
type Person = Awaited<ReturnType<typeof personAs>>
let admin: Person
let developer: Person
let viewer: Person

const code = 'billing-labs'
const reference = 'erc20-transfers@v1'

beforeAll(async () => {
  browser = await openBrowser()
  admin = await personAs(browser, shoal, 'ada@billing.dev')
  await admin.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'ada@billing.dev' } })
  const invited = async (email: string, roleType: 'developer' | 'viewer') => {
    const person = await personAs(browser, shoal, email)
    const { id } = await admin.api.orgs.inviteMember({ params: { code }, body: { email, roleType } })
    await person.api.orgs.acceptInvite({ params: { code, id: String(id) } })
    return person
  }
  developer = await invited('dev@billing.dev', 'developer')
  viewer = await invited('vic@billing.dev', 'viewer')
}, 120_000)

afterAll(async () => {
  await browser?.close()
})

const open = (page: Page, path: string) => page.goto(`${path}?organization=${code}`)
const setStatus = (status: string) => shoal.cli('org', 'set-status', '--code', code, '--status', status)
const status = async () => (await admin.api.orgs.get({ params: { code } })).status
const last4s = async () =>
  (await admin.api.billing.getSettings({ params: { code } })).existing.map(({ card }) => card?.last4)

async function enterCard(page: Page, number: string, expiry = '04/31') {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry').fill(expiry)
  await page.getByLabel('CVC').fill('123')
  await page.getByRole('button', { name: 'Save card' }).click()
}

const refused = {
  '4000 0000 0000 0002': 'Your card was declined.',
  '4000 0000 0000 9995': 'Your card has insufficient funds.',
  '4000 0000 0000 0069': 'Your card has expired.',
  '4000 0000 0000 0127': "Your card's security code is incorrect.",
  '4000 0000 0000 0119': 'An error occurred while processing your card. Try again in a little bit.',
  '4242 4242 4242 4241': 'Your card number is invalid.',
}

test('a valid card upgrades the organization to Professional, also after refused cards', async () => {
  const { page } = admin
  await open(page, '/billing')
  await says(page, 'Upgrade to Pro')
  expect(await page.getByRole('button', { name: 'Save card' }).getAttribute('aria-disabled')).toBe('true')
  for (const [number, message] of Object.entries(refused)) {
    await enterCard(page, number)
    await says(page, message)
  }
  await says(page, 'Some unexpected error occurred!')
  await enterCard(page, '4000 0025 0000 3155')
  const bank = page.getByRole('dialog', { name: 'Your bank asks for confirmation' })
  await bank.waitFor()
  expect(await seriousFlaws(page)).toEqual([])
  await bank.getByRole('button', { name: 'Fail authentication' }).click()
  await says(page, /^We are unable to authenticate your payment method/)
  expect(await status()).toBe('DRAFT')
  await enterCard(page, '4000 0025 0000 3155')
  await bank.getByRole('button', { name: 'Complete authentication' }).click()
  await says(page, 'Billing information has been updated.')
  await says(page, '•••• 3155')
  expect(await status()).toBe('ACTIVE')
  await says(page, 'Professional')
})

test('cards are added, made the default, replaced and removed; the last one cannot be removed', async () => {
  const { page } = admin
  await open(page, '/billing')
  const remove = (last4: string) => page.getByRole('button', { name: `Remove •••• ${last4}` })
  await remove('3155').waitFor()
  expect(await remove('3155').getAttribute('aria-disabled')).toBe('true')
  await page.getByRole('button', { name: 'Add card' }).click()
  const now = new Date()
  const thisMonth = `${now.getUTCMonth() + 1}/${String(now.getUTCFullYear()).slice(2)}`
  await enterCard(page, '4242 4242 4242 4242', thisMonth)
  await says(page, '•••• 4242')
  await says(page, /^Expires soon, /)
  expect(await last4s()).toEqual(['4242', '3155'])

  await page.getByRole('button', { name: 'Make •••• 3155 the default' }).click()
  await page.getByRole('button', { name: 'Make •••• 4242 the default' }).waitFor()
  expect(await last4s()).toEqual(['3155', '4242'])

  await page.getByRole('button', { name: 'Replace •••• 4242' }).click()
  await page.getByRole('dialog', { name: 'Replace •••• 4242' }).waitFor()
  expect(await seriousFlaws(page)).toEqual([])
  await enterCard(page, '5555 5555 5555 4444')
  await says(page, '•••• 4444')
  expect(await last4s()).toEqual(['4444', '3155'])

  await remove('3155').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await expect.poll(last4s).toEqual(['4444'])
})

test('billing details are validated with the messages of the specification', async () => {
  const { page } = admin
  await open(page, '/billing')
  await page.getByRole('button', { name: 'Save details' }).click()
  for (const text of ['Name is required', 'Email is required', 'Address is required', 'City is required'])
    await says(page, text)
  await says(page, 'ZIP code is required')
  await says(page, 'Country is required')
  expect(await seriousFlaws(page)).toEqual([])
  const details = { Name: 'Acme Labs AG', 'Billing email': 'pay@billing.dev', Address: 'Seestrasse 1', City: 'Zug' }
  for (const [label, value] of Object.entries({ ...details, 'ZIP code': '6300' }))
    await page.getByLabel(label, { exact: true }).fill(value)
  const country = page.getByRole('combobox', { name: 'Country' })
  await country.focus()
  await page.keyboard.type('switz')
  expect(await country.inputValue()).toBe('CH')
  await page.getByRole('button', { name: 'Save details' }).click()
  await says(page, 'Billing information has been updated.')
  const { billingDetails } = await admin.api.orgs.get({ params: { code } })
  expect(billingDetails).toMatchObject({ name: 'Acme Labs AG', country: 'CH', postalCode: '6300' })
})

test('the cost is shown before a deployment, by profiles and by squid.yaml, and afterwards on the version page', async () => {
  const { page } = admin
  const deployer = { shoal, org: code, token: admin.token, api: admin.api }
  const deployed = played(deployer, { name: 'erc20-transfers', slot: 'v1' })
  await open(page, '/squids/deploy')
  const estimate = page.getByRole('table', { name: 'Estimated cost' })
  const manifestOf = (scale: object) =>
    JSON.stringify({ deploy: { addons: { postgres: {} }, processor: { cmd: ['x'] }, api: { cmd: ['y'] } }, scale })
  const perMonth = async (scale: object) => {
    const call = { params: { code }, body: { manifest: manifestOf(scale) } }
    return `$${(await admin.api.billing.estimate(call)).perMonthUsd}`
  }
  await says(page, await perMonth({ dedicated: true }))
  await page.getByLabel('API replicas', { exact: true }).fill('3')
  await says(page, await perMonth({ dedicated: true, api: { replicas: 3 } }))
  expect(
    await estimate
      .getByRole('row', { name: /^API, small/ })
      .getByRole('cell')
      .nth(1)
      .textContent(),
  ).toBe('3')
  await page.getByText('Dedicated resources').click()
  await estimate.getByRole('row', { name: /^Collocated squid/ }).waitFor()

  await page.getByRole('tab', { name: 'By squid.yaml' }).click()
  await page.getByLabel('squid.yaml', { exact: true }).fill('deploy: [')
  await page.getByRole('alert').waitFor()
  const file = { name: 'squid.yaml', mimeType: 'text/yaml', buffer: Buffer.from(manifestOf({ dedicated: true })) }
  await page.getByLabel('Choose squid.yaml').setInputFiles(file)
  await says(page, await perMonth({ dedicated: true }))
  expect(await seriousFlaws(page)).toEqual([])

  expect((await deployed).failed).toBe('NO')
  await page.goto(`/squids/erc20-transfers/v1?organization=${code}`)
  const card = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Cost this month' }) })
  await card.getByText('Forecast for the month').waitFor()
  expect(await card.locator('dd').allTextContents()).toEqual(expect.arrayContaining([expect.stringMatching(/^\$\d/)]))
  await card.getByRole('link', { name: 'Usage' }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get('bySquid')).toBe('true')
})

const banners = {
  PAYMENT_ISSUES: "Payment method couldn't be charged. Please update it.",
  IN_DEBT: 'Payment is overdue. Please update your card details.',
  TERMINATED: 'Payment is overdue. Please update your card details.',
} as const

test.each(Object.entries(banners))(
  'while %s, every billing page shows the banner to every role',
  async (accountStatus, text) => {
    await setStatus(accountStatus)
    const expectBannerOnly = async ({ page }: Person, path: string) => {
      await open(page, path)
      await says(page, text)
      expect(await page.getByRole('button', { name: 'Pay now' }).count()).toBe(0)
    }
    for (const path of ['/billing/usage', '/billing/limits']) await expectBannerOnly(viewer, path)
    for (const person of [developer, viewer]) {
      const { page } = person
      await expectBannerOnly(person, '/billing')
      await says(page, 'Payment methods management is available for users with Admin role')
      expect(await page.getByLabel('Card number').count()).toBe(0)
      expect(await page.getByRole('button', { name: 'Save details' }).count()).toBe(0)
    }
    await open(admin.page, '/billing')
    await says(admin.page, text)
    await keepShot(admin.page, `billing-${accountStatus}`)
    await admin.page.getByRole('button', { name: 'Pay now' }).click()
    await says(admin.page, /^Nothing is due\./)
    expect(await status()).toBe(accountStatus)
    await setStatus('ACTIVE')
    await open(admin.page, '/billing')
    await expect.poll(() => admin.page.getByText(text, { exact: true }).count()).toBe(0)
  },
)

const squidStatus = async () => (await admin.api.squids.get({ params: { code, reference } })).status
const within = { timeout: 60_000, interval: 500 }

test('a terminated organization can export its databases and receipts', async () => {
  await setStatus('TERMINATED')
  await expect.poll(squidStatus, within).toBe('HIBERNATED')
  await open(viewer.page, '/billing')
  await says(viewer.page, /^Your role may not see passwords and tokens, nor export databases\./)
  expect(await viewer.page.getByRole('button', { name: `Export ${reference}` }).count()).toBe(0)
  const { page } = developer
  await open(page, '/billing')
  const download = async (name: string) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()])
    return { name: file.suggestedFilename(), content: readFileSync(await file.path()) }
  }
  const database = await download(`Export ${reference}`)
  expect(database.name).toBe(`${reference}.sql.gz`)
  expect(gunzipSync(database.content).toString()).toMatch(`-- The database of ${reference}`)
  const receipts = await download('Export all receipts')
  expect(receipts.name).toBe(`receipts-${code}.csv`)
  expect(receipts.content.toString()).toMatch('Month;Squid name;Type;Amount;Rate;Cost;Discount;Subtotal')
  expect(await seriousFlaws(page)).toEqual([])
  await setStatus('ACTIVE')
  await expect.poll(squidStatus, within).toBe('DEPLOYED')
})

test('a month without usage has an empty state; changed caps are saved', async () => {
  const { page } = admin
  await page.goto(`/billing/usage?organization=${code}&month=2020-01`)
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

test('squids are hibernated within a minute of reaching a cap, and restored within a minute of removing it', async () => {
  const { page, api } = admin
  const params = { code }
  const cap = (spendCapUsd: string | null) =>
    api.billing.updateLimits({ params, body: { spendCapUsd, atCap: 'hibernate', rpcRequestsCap: null } })
  await cap('0')
  await expect.poll(squidStatus, within).toBe('HIBERNATED')
  await expect(api.squids.restart({ params: { ...params, reference } })).rejects.toMatchObject({ status: 405 })
  await open(page, '/billing/limits')
  await says(page, 'Spend cap reached')
  await says(page, `Hibernated (data is kept): ${reference}.`)
  await cap(null)
  await expect.poll(squidStatus, within).toBe('DEPLOYED')
})

test('the calculator uses the prices of the price list', async () => {
  const { page } = admin
  await open(page, '/billing')
  const [prices] = await admin.api.billing.getPrices({})
  const hourlyRateOf = (type: string) => Number(prices?.rates.find((rate) => rate.type === type)?.rateUsd)
  for (const [label, value] of Object.entries({ API: '2', Processors: '0', Postgres: '0' }))
    await page.getByLabel(`Number of ${label}`, { exact: true }).fill(value)
  await page.getByLabel('Database storage, GB').fill('0')
  const cents = (2 * 720 * hourlyRateOf('api.small')).toFixed(2)
  await expect.poll(() => page.getByText(`$${cents}`, { exact: true }).count()).toBeGreaterThan(0)
  await page.getByLabel('Number of API', { exact: true }).fill('0')
  await page.getByLabel('Number of collocated squids').fill('3')
  const flat = (3 * 720 * hourlyRateOf('collocated')).toFixed(2)
  await expect.poll(() => page.getByText(`$${flat}`, { exact: true }).count()).toBeGreaterThan(0)
  expect(await page.getByText('Hasura').count()).toBe(0)
  const linkTo = (name: string) => page.getByRole('link', { name }).getAttribute('href')
  expect([await linkTo('Cost calculator'), await linkTo('Book a demo')]).toEqual([
    '#calculator',
    'mailto:help@example.com?subject=Demo',
  ])
})

test('settings are fetched once, and a receipt at most every 30 seconds', async () => {
  const { page } = admin
  const requested: string[] = []
  page.on('request', (request) => {
    const part = /\/billing\/(settings|receipts)/.exec(request.url())?.[1]
    if (part) requested.push(part)
  })
  await open(page, '/billing')
  await page.getByLabel('Billing email').waitFor()
  for (let visit = 0; visit < 2; visit++) {
    await page.getByRole('link', { name: 'Usage', exact: true }).click()
    await page.getByText('Per squid').waitFor()
    await expect.poll(() => requested.includes('receipts')).toBe(true)
    await page.getByRole('link', { name: 'General', exact: true }).click()
    await page.getByLabel('Billing email').waitFor()
  }
  expect(requested.toSorted()).toEqual(['receipts', 'settings'])
})

test('the billing pages are accessible in both themes and at every width', async () => {
  const { page } = admin
  const flaws: string[] = []
  for (const [shot, path] of [
    ['billing', '/billing'],
    ['billing-usage', '/billing/usage'],
    ['billing-limits', '/billing/limits'],
  ] as const) {
    await open(page, path)
    await expect.poll(() => page.locator('[aria-busy=true], [aria-label=Loading]').count()).toBe(0)
    flaws.push(...(await flawsOfLooks(page, shot)))
  }
  expect(flaws).toEqual([])
  expect(complaints).toEqual([])
})

test('a playground has no billing', async () => {
  const person = await personAs(browser, shoal, 'solo@billing.dev')
  await person.page.goto('/billing')
  await expect.poll(() => new URL(person.page.url()).pathname).toBe('/squids')
})

import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageErrors, accessibilityFlaws, saveScreenshot, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { waitForExactText, waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'
import { isFull } from '../../support/tier.ts'

const shoal = consoleShoal()
let browser: Browser
type Person = Awaited<ReturnType<typeof signInAs>>
let admin: Person
let developer: Person
let viewer: Person

const code = 'billing-labs'
const reference = 'erc20-transfers@v1'

beforeAll(async () => {
  browser = await connectToBrowser()
  admin = await signInAs(browser, shoal, 'ada@billing.dev')
  await admin.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'ada@billing.dev' } })
  const addMember = async (email: string, roleType: 'developer' | 'viewer') => {
    const person = await signInAs(browser, shoal, email)
    const { id } = await admin.api.orgs.inviteMember({ params: { code }, body: { email, roleType } })
    await person.api.orgs.acceptInvite({ params: { code, id: String(id) } })
    return person
  }
  developer = await addMember('dev@billing.dev', 'developer')
  viewer = await addMember('vic@billing.dev', 'viewer')
})

afterAll(async () => {
  await browser?.close()
})

const open = (page: Page, path: string) => page.goto(`${path}?organization=${code}`)
const setStatus = (status: string) => shoal.cli('org', 'set-status', '--code', code, '--status', status)
const status = async () => (await admin.api.orgs.get({ params: { code } })).status
const lastDigits = async () =>
  (await admin.api.billing.getSettings({ params: { code } })).existing.map(({ card }) => card?.last4)

async function enterCard(page: Page, number: string, expiry = '04/31') {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry').fill(expiry)
  await page.getByLabel('CVC').fill('123')
  await page.getByRole('button', { name: 'Save card' }).click()
}

const rejectedCards = {
  '4000 0000 0000 0002': 'Your card was declined.',
  '4000 0000 0000 9995': 'Your card has insufficient funds.',
  '4000 0000 0000 0069': 'Your card has expired.',
  '4000 0000 0000 0127': "Your card's security code is incorrect.",
  '4000 0000 0000 0119': 'An error occurred while processing your card. Try again in a little bit.',
  '4242 4242 4242 4241': 'Your card number is invalid.',
}

test('the page shows why a card was rejected, and the organization stays a draft', async () => {
  const { page } = admin
  await open(page, '/billing')
  await waitForExactText(page, 'Upgrade to Pro')
  await expect.poll(() => page.getByRole('button', { name: 'Save card' }).getAttribute('aria-disabled')).toBe('true')
  for (const [number, message] of Object.entries(rejectedCards)) {
    await enterCard(page, number)
    await waitForExactText(page, message)
  }
  await waitForExactText(page, 'Some unexpected error occurred!')
  expect(await status()).toBe('DRAFT')
})

test('the card form formats the input, and shows the error of each field', async () => {
  const { page } = admin
  await open(page, '/billing')
  const [number, expiry, cvc] = ['Card number', 'Expiry', 'CVC'].map((label) => page.getByLabel(label)) as [
    Locator,
    Locator,
    Locator,
  ]
  const save = page.getByRole('button', { name: 'Save card' })
  await number.pressSequentially('42424242')
  await expect.poll(() => number.inputValue()).toBe('4242 4242')
  await expiry.pressSequentially('1320')
  await waitForExactText(page, 'Enter all digits of the card number')
  await cvc.pressSequentially('12x')
  await waitForExactText(page, 'Months are 01 to 12')
  await number.press('End')
  await number.pressSequentially('42424242')
  await waitForExactText(page, 'Enter 3 or 4 digits')
  await expect.poll(() => save.getAttribute('aria-disabled')).toBe('true')
  // The browser may report the scrolling to the button only after it has reported the pointer over the button. Dispatched in the same
  // task, because a later scroll event could close the open tooltip.
  await page.evaluate(`document.addEventListener('pointerover', ({ target }) => {
    if (target.closest('[type=submit]')) document.dispatchEvent(new Event('scroll'))
  })`)
  await save.hover()
  const tip = await page.getByRole('tooltip', { includeHidden: true }).boundingBox()
  const button = await save.boundingBox()
  expect(tip?.y).toBeGreaterThan((button?.y ?? 0) + (button?.height ?? 0))
  await expiry.fill('')
  await expiry.pressSequentially('1235')
  await expect.poll(() => expiry.inputValue()).toBe('12 / 35')
  await cvc.press('End')
  await cvc.pressSequentially('3')
  await expect.poll(() => save.getAttribute('aria-disabled')).toBeNull()
  await expect.poll(() => page.getByText('Enter all digits of the card number').count()).toBe(0)
})

test('a card whose authentication failed can be entered again, and upgrades the organization to Professional', async () => {
  const { page } = admin
  await open(page, '/billing')
  await enterCard(page, '4000 0025 0000 3155')
  const bank = page.getByRole('dialog', { name: 'Your bank asks for confirmation' })
  await bank.waitFor()
  expect(await axeFlaws(page)).toEqual([])
  await bank.getByRole('button', { name: 'Fail authentication' }).click()
  await waitForText(page, /^We are unable to authenticate your payment method/)
  expect(await status()).toBe('DRAFT')
  await enterCard(page, '4000 0025 0000 3155')
  await bank.getByRole('button', { name: 'Complete authentication' }).click()
  await waitForExactText(page, 'Billing information has been updated.')
  await waitForExactText(page, '•••• 3155')
  expect(await status()).toBe('ACTIVE')
  await waitForExactText(page, 'Professional')
})

test('cards can be added, made the default, replaced and removed, but the last card cannot be removed', async () => {
  const { page } = admin
  await open(page, '/billing')
  const remove = (last4: string) => page.getByRole('button', { name: `Remove •••• ${last4}` })
  await remove('3155').waitFor()
  await expect.poll(() => remove('3155').getAttribute('aria-disabled')).toBe('true')
  await page.getByRole('button', { name: 'Add card' }).click()
  const now = new Date()
  const thisMonth = `${now.getUTCMonth() + 1}/${String(now.getUTCFullYear()).slice(2)}`
  await enterCard(page, '4242 4242 4242 4242', thisMonth)
  await waitForExactText(page, '•••• 4242')
  await waitForText(page, /^Expires soon, /)
  await expect.poll(() => lastDigits()).toEqual(['4242', '3155'])

  await page.getByRole('button', { name: 'Make •••• 3155 the default' }).click()
  await page.getByRole('button', { name: 'Make •••• 4242 the default' }).waitFor()
  await expect.poll(() => lastDigits()).toEqual(['3155', '4242'])

  await page.getByRole('button', { name: 'Replace •••• 4242' }).click()
  await page.getByRole('dialog', { name: 'Replace •••• 4242' }).waitFor()
  expect(await axeFlaws(page)).toEqual([])
  await enterCard(page, '5555 5555 5555 4444')
  await waitForExactText(page, '•••• 4444')
  await expect.poll(() => lastDigits()).toEqual(['4444', '3155'])

  await remove('3155').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await expect.poll(lastDigits).toEqual(['4444'])
})

test('billing details are validated with the messages of the specification', async () => {
  const { page } = admin
  await open(page, '/billing')
  await page.getByRole('button', { name: 'Save details' }).click()
  for (const text of ['Name is required', 'Email is required', 'Address is required', 'City is required'])
    await waitForExactText(page, text)
  await waitForExactText(page, 'ZIP code is required')
  await waitForExactText(page, 'Country is required')
  expect(await axeFlaws(page)).toEqual([])
  const details = { Name: 'Acme Labs AG', 'Billing email': 'pay@billing.dev', Address: 'Seestrasse 1', City: 'Zug' }
  for (const [label, value] of Object.entries({ ...details, 'ZIP code': '6300' }))
    await page.getByLabel(label, { exact: true }).fill(value)
  const country = page.getByRole('combobox', { name: 'Country' })
  await country.focus()
  await page.keyboard.type('switz')
  await expect.poll(() => country.inputValue()).toBe('CH')
  await page.getByRole('button', { name: 'Save details' }).click()
  await waitForExactText(page, 'Billing information has been updated.')
  const { billingDetails } = await admin.api.orgs.get({ params: { code } })
  expect(billingDetails).toMatchObject({ name: 'Acme Labs AG', country: 'CH', postalCode: '6300' })
})

test('the deploy guide estimates the cost from profiles or squid.yaml, and the version page shows the actual cost', async () => {
  const { page } = admin
  const deployer = { shoal, org: code, token: admin.token, api: admin.api }
  const deployment = deploySimulated(deployer, { name: 'erc20-transfers', slot: 'v1' })
  await open(page, '/squids/deploy')
  const estimate = page.getByRole('table', { name: 'Estimated cost' })
  const manifestOf = (scale: object) =>
    JSON.stringify({ deploy: { addons: { postgres: {} }, processor: { cmd: ['x'] }, api: { cmd: ['y'] } }, scale })
  const perMonth = async (scale: object) => {
    const call = { params: { code }, body: { manifest: manifestOf(scale) } }
    return `$${(await admin.api.billing.estimate(call)).perMonthUsd}`
  }
  await waitForExactText(page, await perMonth({ dedicated: true }))
  await page.getByLabel('API replicas', { exact: true }).fill('3')
  await waitForExactText(page, await perMonth({ dedicated: true, api: { replicas: 3 } }))
  expect(
    await estimate
      .getByRole('row', { name: /^API, small/ })
      .getByRole('cell')
      .nth(1)
      .textContent(),
  ).toBe('3')
  await page.getByText('Dedicated resources').click()
  await estimate.getByRole('row', { name: /^Collocated squid/ }).waitFor()

  await page.getByRole('tab', { name: 'From squid.yaml' }).click()
  await page.getByLabel('squid.yaml', { exact: true }).fill('deploy: [')
  await page.getByRole('alert').waitFor()
  const file = { name: 'squid.yaml', mimeType: 'text/yaml', buffer: Buffer.from(manifestOf({ dedicated: true })) }
  await page.getByLabel('Choose squid.yaml').setInputFiles(file)
  await waitForExactText(page, await perMonth({ dedicated: true }))
  expect(await axeFlaws(page)).toEqual([])

  expect((await deployment).failed).toBe('NO')
  await page.goto(`/squids/erc20-transfers/v1?organization=${code}`)
  const card = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Cost this month' }) })
  await card.getByText('Forecast for the month').waitFor()
  await expect
    .poll(() => card.locator('dd').allTextContents())
    .toEqual(expect.arrayContaining([expect.stringMatching(/^\$\d/)]))
  await card.getByRole('link', { name: 'Usage' }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get('bySquid')).toBe('true')
})

const banners = {
  PAYMENT_ISSUES: "Payment method couldn't be charged. Please update it.",
  IN_DEBT: 'Payment is overdue. Please update your card details.',
  TERMINATED: 'Payment is overdue. Please update your card details.',
} as const

test.each(Object.entries(banners).filter(([status]) => isFull || status === 'IN_DEBT'))(
  'while the organization is %s, every billing page shows the banner to every role',
  async (accountStatus, text) => {
    await setStatus(accountStatus)
    const expectBannerOnly = async ({ page }: Person, path: string) => {
      await open(page, path)
      await waitForExactText(page, text)
      await expect.poll(() => page.getByRole('button', { name: 'Pay now' }).count()).toBe(0)
    }
    for (const path of ['/billing/usage', '/billing/limits']) await expectBannerOnly(viewer, path)
    for (const person of [developer, viewer]) {
      const { page } = person
      await expectBannerOnly(person, '/billing')
      await waitForExactText(page, 'Payment methods management is available for users with Admin role')
      await expect.poll(() => page.getByLabel('Card number').count()).toBe(0)
      await expect.poll(() => page.getByRole('button', { name: 'Save details' }).count()).toBe(0)
    }
    await open(admin.page, '/billing')
    await waitForExactText(admin.page, text)
    await saveScreenshot(admin.page, `billing-${accountStatus}`)
    await admin.page.getByRole('button', { name: 'Pay now' }).click()
    await waitForText(admin.page, /^Nothing is due\./)
    expect(await status()).toBe(accountStatus)
    await setStatus('ACTIVE')
    await open(admin.page, '/billing')
    await expect.poll(() => admin.page.getByText(text, { exact: true }).count()).toBe(0)
  },
)

const squidStatus = async () => (await admin.api.squids.get({ params: { code, reference } })).status
const pollOptions = { timeout: 120_000, interval: 500 }

test('a terminated organization can export its databases and receipts', async () => {
  await setStatus('TERMINATED')
  await expect.poll(squidStatus, pollOptions).toBe('HIBERNATED')
  await open(viewer.page, '/billing')
  await waitForText(viewer.page, /^Your role cannot see passwords and tokens or export databases\./)
  await expect.poll(() => viewer.page.getByRole('button', { name: `Export ${reference}` }).count()).toBe(0)
  const { page } = developer
  await open(page, '/billing')
  const download = async (name: string) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()])
    return { name: file.suggestedFilename(), content: await buffer(await file.createReadStream()) }
  }
  const database = await download(`Export ${reference}`)
  expect(database.name).toBe(`${reference}.sql.gz`)
  expect(gunzipSync(database.content).toString()).toMatch(`-- The database of ${reference}`)
  const receipts = await download('Export all receipts')
  expect(receipts.name).toBe(`receipts-${code}.csv`)
  expect(receipts.content.toString()).toMatch('Month;Squid name;Type;Amount;Rate;Cost;Discount;Subtotal')
  expect(await axeFlaws(page)).toEqual([])
  await setStatus('ACTIVE')
  await expect.poll(squidStatus, pollOptions).toBe('DEPLOYED')
})

test('a month without usage shows an empty state; changed caps are saved', async () => {
  const { page } = admin
  await page.goto(`/billing/usage?organization=${code}&month=2020-01`)
  await waitForExactText(page, 'No usage during this period')
  await page.getByText('Per squid').click()
  await expect.poll(() => new URL(page.url()).searchParams.get('bySquid')).toBe('true')

  await open(page, '/billing/limits')
  await page.getByLabel('Spend cap, USD').fill('a lot')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await waitForExactText(page, 'An amount in dollars, as in 100 or 99.50')
  await page.getByLabel('Spend cap, USD').fill('99.50')
  await page.getByText('Hibernate squids').click()
  await page.getByRole('button', { name: 'Save limits' }).click()
  await waitForExactText(page, 'The limits have been changed')
  const limits = await admin.api.billing.getLimits({ params: { code } })
  expect([Number(limits.spendCapUsd), limits.atCap]).toEqual([99.5, 'hibernate'])
})

test.runIf(isFull)(
  'squids are hibernated within a minute of reaching a cap, and restored within a minute of removing it',
  async () => {
    const { page, api } = admin
    const params = { code }
    const setSpendCap = (spendCapUsd: string | null) =>
      api.billing.updateLimits({ params, body: { spendCapUsd, atCap: 'hibernate', rpcRequestsCap: null } })
    await setSpendCap('0')
    await expect.poll(squidStatus, pollOptions).toBe('HIBERNATED')
    await expect(api.squids.restart({ params: { ...params, reference } })).rejects.toMatchObject({ status: 405 })
    await open(page, '/billing/limits')
    await waitForExactText(page, 'Spend cap reached')
    await waitForExactText(page, `Hibernated (data is kept): ${reference}.`)
    await setSpendCap(null)
    await expect.poll(squidStatus, pollOptions).toBe('DEPLOYED')
  },
)

test('the calculator uses the prices of the price list', async () => {
  const { page } = admin
  await open(page, '/billing')
  const [prices] = await admin.api.billing.getPrices({})
  const hourlyRateOf = (type: string) => Number(prices?.rates.find((rate) => rate.type === type)?.rateUsd)
  for (const [label, value] of Object.entries({ API: '2', Processors: '0', Postgres: '0' }))
    await page.getByLabel(`Number of ${label}`, { exact: true }).fill(value)
  await page.getByLabel('Database storage, GB').fill('0')
  const apiUsd = (2 * 720 * hourlyRateOf('api.small')).toFixed(2)
  await expect.poll(() => page.getByText(`$${apiUsd}`, { exact: true }).count()).toBeGreaterThan(0)
  await page.getByLabel('Number of API', { exact: true }).fill('0')
  await page.getByLabel('Number of collocated squids').fill('3')
  const collocatedUsd = (3 * 720 * hourlyRateOf('collocated')).toFixed(2)
  await expect.poll(() => page.getByText(`$${collocatedUsd}`, { exact: true }).count()).toBeGreaterThan(0)
  await expect.poll(() => page.getByText('Hasura').count()).toBe(0)
  const linkTo = (name: string) => page.getByRole('link', { name }).getAttribute('href')
  expect([await linkTo('Cost calculator'), await linkTo('Book a demo')]).toEqual([
    '#calculator',
    'mailto:help@example.com?subject=Demo',
  ])
})

test('the page fetches settings once, and a receipt at most every 30 seconds', async () => {
  const page = await admin.context.newPage()
  const requested: string[] = []
  page.on('request', (request) => {
    const part = /\/billing\/(settings|receipts)/.exec(request.url())?.[1]
    if (part) requested.push(part)
  })
  // A user who leaves a page cancels its requests, so each visit waits until the page shows the response.
  const settings = page.getByRole('button', { name: /^Remove •••• / }).or(page.getByLabel('Card number'))
  const receipt = page.getByText(/^Total( so far)?$/).or(page.getByText('No usage during this period'))
  const visitUsage = async () => {
    await page.getByRole('link', { name: 'Usage', exact: true }).click()
    await receipt.first().waitFor()
    await page.getByRole('link', { name: 'General', exact: true }).click()
    await settings.first().waitFor()
  }
  // The test stops the page's clock, because the visits may take more than 30 seconds on a machine under load.
  const startMs = Date.now()
  await page.clock.setFixedTime(startMs)
  await open(page, '/billing')
  await settings.first().waitFor()
  for (let visit = 0; visit < 2; visit++) await visitUsage()
  expect(requested.toSorted()).toEqual(['receipts', 'settings'])
  await page.clock.setFixedTime(startMs + 31_000)
  await visitUsage()
  expect(requested.toSorted()).toEqual(['receipts', 'receipts', 'settings'])
  await page.close()
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
    flaws.push(...(await accessibilityFlaws(page, shot)))
  }
  expect(flaws).toEqual([])
  expect(pageErrors).toEqual([])
})

test('a playground has no billing', async () => {
  const person = await signInAs(browser, shoal, 'solo@billing.dev')
  await person.page.goto('/billing')
  await expect.poll(() => new URL(person.page.url()).pathname).toBe('/squids')
})

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, saveScreenshot, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { holdBuild } from '../../support/hold-build.ts'
import { clipboard, waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import {
  requestSimulatedDeploy,
  deploySimulated,
  type Deployer,
  type SimulatedSquid,
} from '../../support/simulated-squid.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page
let deployer: Deployer

const code = 'squids-labs'
const synced = { sync: { fromBlock: 100, headBlock: 204, headBlocksPerSecond: 0.01, blocksPerSecond: 2000 } }
const syncing = { sync: { fromBlock: 0, headBlock: 20_849_010, headBlocksPerSecond: 0.5, blocksPerSecond: 2100 } }
const crashes = { print: ['Error: connect ECONNREFUSED'], ends: { afterMs: 6000, exitCode: 1 } }
const squids: SimulatedSquid[] = [
  { name: 'erc20-transfers', slot: 'v1', tag: 'production', processors: { eth: synced } },
  { name: 'erc20-transfers', slot: 'v2', tag: 'staging', processors: { eth: syncing } },
  { name: 'lending', slot: 'v1', processors: { eth: crashes } },
  { name: 'nft-floor', slot: 'v1', processors: { eth: synced } },
]

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'mira@squids.dev')
  page = person.page
  deployer = { shoal, org: code, token: person.token, api: person.api }
  await deployer.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'mira@squids.dev' } })
})

afterAll(async () => {
  await browser?.close()
})

const open = (query = '', target = page) => target.goto(`/squids?organization=${code}${query}`)
const row = (reference: string, target = page) => target.locator(`[data-row="${reference}"]`)
const references = () => page.locator('[data-row]').evaluateAll((rows) => rows.map((element) => element.dataset['row']))
async function openMenu(reference: string) {
  await row(reference).locator('[data-row-menu]').click()
  await page.getByRole('menu').waitFor()
}
/** Returns why the menu of a row is disabled; null if it is enabled. */
const menuDisabledReason = async (reference: string, target = page) => {
  const trigger = row(reference, target).locator('[data-row-menu]')
  return (await trigger.getAttribute('aria-disabled')) === 'true' ? trigger.getAttribute('aria-description') : null
}
const item = (name: string) => page.getByRole('menuitem', { name: new RegExp(`^${name}`) })
/** Waits until a menu item is disabled, and returns why. */
const itemDisabledReason = async (name: string) => {
  await expect.poll(() => item(name).getAttribute('aria-disabled')).toBe('true')
  return (await item(name).innerText()).split('\n').at(-1)
}

test('without squids the page shows the deploy guide, with commands for this installation', async () => {
  await open()
  await waitForText(page, 'Waiting for your first deployment…')
  await waitForText(page, 'npm install --global @subsquid/cli@3.2.3 joi@17.13.3')
  await page.getByLabel('API token', { exact: true }).fill(deployer.token)
  await page.getByRole('button', { name: 'Copy auth command' }).click()
  await expect.poll(() => clipboard(page)).toBe(`sqd auth -k ${deployer.token} -h ${shoal.url}/api`)
  const name = page.getByLabel('Squid name')
  await waitForText(page, 'Min 3, max 30 symbols. Cannot be changed later.')
  await name.fill('-x')
  await name.blur()
  await waitForText(page, 'Only lowercase alphanumeric symbols and hyphens are allowed')
  await name.fill('ab')
  await page.getByText('Min 3, max 30 symbols.', { exact: true }).waitFor()
  await name.fill('')
  await waitForText(page, 'Squid name is required')
  expect(await axeFlaws(page)).toEqual([])
  await name.fill('erc20-transfers')
  await page.getByRole('button', { name: /Template/ }).click()
  await page.getByRole('option', { name: 'gravatar' }).click()
  await waitForText(page, 'sqd init erc20-transfers -t gravatar && cd erc20-transfers')
  await waitForText(page, `sqd deploy . -o ${code}`)
  await page.getByRole('link', { name: 'Upgrade to Pro' }).waitFor()
  for (const [status, text, plan] of [
    ['ACTIVE', 'For a step-by-step guide to squids', 'Professional'],
    ['PAYMENT_ISSUES', 'For a step-by-step guide to squids', 'Payment issue'],
    ['IN_DEBT', 'Payment is overdue. Please update your card details.', 'Unpaid'],
  ] as const) {
    await shoal.cli('org', 'set-status', '--code', code, '--status', status)
    await page.goto('/squids/deploy')
    await waitForText(page, text)
    await page.getByRole('button', { name: new RegExp(plan) }).waitFor()
  }
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const { organizations } = await deployer.api.user.get({})
  const playground = organizations.find(({ limits }) => limits.playground)
  await page.goto(`/squids?organization=${playground?.code}`)
  await page.getByRole('link', { name: 'create an organization' }).waitFor()
})

test('the deploy guide shows the progress of the deployment, and afterwards the list shows the squids', async () => {
  await page.goto(`/squids/deploy?organization=${code}`)
  await waitForText(page, 'Waiting for your first deployment…')
  const { whileExists, end } = holdBuild()
  await requestSimulatedDeploy(deployer, { name: 'erc20-transfers', slot: 'v1', build: { whileExists } })
  await waitForText(page, /Deployment \d+ of erc20-transfers@v1 is running/)
  end()
  await waitForText(page, 'erc20-transfers@v1 is deployed')
  await page.getByRole('link', { name: 'Open erc20-transfers@v1' }).waitFor()

  await open()
  await row('erc20-transfers@v1').waitFor()
  const deployments = await Promise.all(squids.map((squid) => deploySimulated(deployer, squid)))
  expect(deployments.map(({ failed }) => failed)).toEqual(squids.map(() => 'NO'))
  await row('erc20-transfers@v1').getByText('Healthy').waitFor()
  await row('erc20-transfers@v2').getByText('Processing').waitFor()
  await row('lending@v1').getByText('Degraded').waitFor()
  const statusReason = (reference: string, status: string) => row(reference).getByText(status).getAttribute('data-tip')
  await expect.poll(() => statusReason('lending@v1', 'Degraded')).toMatch(/eth: /)
  await expect.poll(() => statusReason('erc20-transfers@v2', 'Processing')).toMatch(/^eth: syncing\.\n[^]*Since /)
  await waitForText(page, '4 versions of 3 squids · 96 left in this organization')
})

test('the list shows the number of requests through the gateway for each day', async () => {
  const url = `${shoal.gatewayUrl}/${code}/erc20-transfers@v1/api/graphql`
  for (let i = 0; i < 3; i++) await fetch(url, { method: 'POST', body: '{}' })
  const bars = row('erc20-transfers@v1').getByRole('img', { name: 'Requests of the last 7 days' })
  await expect.poll(() => bars.getAttribute('data-tip')).toMatch(/: 3$/)
  await row('erc20-transfers@v1').getByText('3', { exact: true }).waitFor()
})

test('search, filters and order are in the URL and restored from it', async () => {
  await open()
  await row('nft-floor@v1').waitFor()
  await page.getByLabel('Find squid').fill('^ERC20.*v[12]$')
  await page.waitForURL(/search=/)
  await expect.poll(() => references()).toEqual(['erc20-transfers@v2', 'erc20-transfers@v1'])
  await page.getByLabel('Find squid').fill('nope(')
  await waitForText(page, 'No squids found: nope(')
  expect(await axeFlaws(page)).toEqual([])
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await row('nft-floor@v1').waitFor()
  await expect.poll(() => new URL(page.url()).searchParams.has('search')).toBe(false)
  await expect.poll(() => page.getByLabel('Find squid').inputValue()).toBe('')
  await page.getByRole('button', { name: /Status$/ }).click()
  await page.getByRole('option', { name: 'Degraded' }).click()
  await page.keyboard.press('Escape')
  await page.waitForURL(/status=DEGRADED/)
  await expect.poll(() => references()).toEqual(['lending@v1'])
  await row('lending@v1').getByRole('link').click()
  await page.getByRole('heading', { name: /^lending@v1/ }).waitFor()
  await page.goBack()
  await row('lending@v1').waitFor()
  await expect.poll(() => references()).toEqual(['lending@v1'])
  // The back button restores the typed text, even if the user followed a link before the search was applied.
  const find = page.getByLabel('Find squid')
  await find.fill('LENDING')
  await row('lending@v1').getByRole('link').click()
  await page.getByRole('heading', { name: /^lending@v1/ }).waitFor()
  await page.goBack()
  await row('lending@v1').waitFor()
  await expect.poll(() => find.inputValue()).toBe('LENDING')
  await open('&tag=staging')
  await row('erc20-transfers@v2').waitFor()
  await expect.poll(() => references()).toEqual(['erc20-transfers@v2'])
  await open('&sort=name&order=desc')
  await row('nft-floor@v1').waitFor()
  expect((await references())[0]).toBe('nft-floor@v1')
  await page.getByRole('columnheader', { name: 'Deploy date' }).getByRole('button').click()
  await page.waitForURL(/sort=deployedAt/)
})

test('actions require confirmation and show why they are disabled; the list shows their progress', async () => {
  await open()
  await openMenu('nft-floor@v1')
  expect(await axeFlaws(page)).toEqual([])
  await saveScreenshot(page, 'squids-menu')
  await item('Copy endpoint').click()
  await expect.poll(() => clipboard(page)).toBe(`${shoal.gatewayUrl}/${code}/nft-floor@v1/api/graphql`)
  await openMenu('nft-floor@v1')
  await item('Hibernate').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Hibernate' }).click()
  await row('nft-floor@v1').getByText('Hibernated').waitFor()
  await openMenu('nft-floor@v1')
  await expect.poll(() => itemDisabledReason('Hibernate')).toBe('It is already hibernated.')
  await expect
    .poll(() => itemDisabledReason('Copy endpoint'))
    .toBe('A hibernated squid has no endpoint. Restart it first.')
  await item('Restart').click()
  await row('nft-floor@v1').getByText('Healthy').waitFor()

  const { whileExists, end } = holdBuild()
  await requestSimulatedDeploy(deployer, {
    name: 'nft-floor',
    slot: 'v1',
    build: { whileExists },
    processors: { eth: synced },
  })
  // A reload shows the new status without waiting for the next poll.
  await page.reload()
  await row('nft-floor@v1').getByText('Deploying').waitFor()
  await expect.poll(() => menuDisabledReason('nft-floor@v1')).toMatch(/is in progress/)
  end()
  await row('nft-floor@v1').getByText('Healthy').waitFor()

  await openMenu('nft-floor@v1')
  await item('Delete').click()
  const dialog = page.getByRole('alertdialog', { name: 'Delete nft-floor@v1?' })
  const confirm = dialog.getByRole('button', { name: 'Delete' })
  await expect.poll(() => confirm.getAttribute('aria-disabled')).toBe('true')
  expect(await axeFlaws(page)).toEqual([])
  await dialog.getByRole('textbox').fill('nft-floor@v1')
  await confirm.click()
  await row('nft-floor@v1').waitFor({ state: 'detached' })
})

test('a viewer sees the squids, and why their menus are disabled', async () => {
  const viewer = await signInAs(browser, shoal, 'vera@squids.dev')
  await deployer.api.orgs.inviteMember({ params: { code }, body: { email: 'vera@squids.dev', roleType: 'viewer' } })
  const [invitation] = await viewer.api.user.listInvites({})
  await viewer.api.orgs.acceptInvite({ params: { code, id: String(invitation?.id) } })
  await open('', viewer.page)
  await row('lending@v1', viewer.page).waitFor()
  await expect.poll(() => menuDisabledReason('lending@v1', viewer.page)).toMatch(/^Your role can view squids/)
  await viewer.context.close()
})

test('in a playground whose only squid is deployed, a warning appears and the deploy button is disabled', async () => {
  const { organizations } = await deployer.api.user.get({})
  const playground = organizations.find(({ limits }) => limits.playground)?.code ?? ''
  await deploySimulated({ ...deployer, org: playground }, { name: 'first', slot: 'v1' })
  await page.goto(`/squids?organization=${playground}`)
  await waitForText(page, 'No squids are left in your playground. Delete a version to deploy another one.')
  const button = page.getByRole('button', { name: 'Deploy squid' })
  await expect.poll(() => button.getAttribute('aria-description')).toMatch(/Delete a version first/)
})

test('in a list of a thousand versions, only the visible rows are rendered and polled', async () => {
  const person = await signInAs(browser, shoal, 'mira@squids.dev')
  const [model] = await deployer.api.squids.listSummaries({ params: { code } })
  // The response is simulated, because this tests only the page.
  const payload = Array.from({ length: 1000 }, (_, index) => {
    const name = `squid-${Math.floor(index / 4)}`
    const slot = `v${index % 4}`
    return { ...model, id: index + 1, name, slot, reference: `${name}@${slot}` }
  })
  const requested: string[] = []
  await person.page.route(/\/squids\/summaries/, (route) => {
    const ids = new URL(route.request().url()).searchParams.get('ids')
    requested.push(ids ?? 'all')
    const squids = payload.filter(({ id }) => ids?.split(',').includes(`${id}`) ?? true)
    return route.fulfill({
      json: { payload: ids ? squids.map((squid) => ({ ...squid, tags: [{ name: 'newer' }] })) : squids },
    })
  })
  await person.page.clock.install()
  await open('', person.page)
  await waitForText(person.page, '1,000 versions of 250 squids')
  const rendered = () => person.page.locator('[data-row]').count()
  await expect.poll(() => rendered()).toBeLessThan(80)
  await expect.poll(() => person.page.getByRole('table').getAttribute('aria-rowcount')).toBe('1251')
  await person.page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
  await row('squid-249@v3', person.page).waitFor()
  await expect.poll(() => rendered()).toBeLessThan(80)
  await person.page.clock.fastForward(10_000)
  await row('squid-249@v3', person.page).getByText('newer').waitFor()
  expect(requested[0]).toBe('all')
  expect(requested.at(-1)?.split(',').length).toBeLessThan(80)
  // The command palette lists the versions too. If its data is stale, the palette requests only the rows that the page shows.
  const countBefore = requested.length
  await person.page.clock.fastForward(6_000)
  await person.page.keyboard.press('Control+k')
  await person.page.getByRole('menuitem', { name: 'squid-0@v0', exact: true }).waitFor()
  await expect.poll(() => requested.length).toBeGreaterThan(countBefore)
  expect(requested.slice(1)).not.toContain('all')
  await person.page.keyboard.press('Escape')
  await person.page.getByLabel('Find squid').fill('squid-77@')
  await row('squid-77@v0', person.page).waitFor()
  await expect.poll(() => rendered()).toBe(4)
  await person.context.close()
})

test('the user can step through the tour in both directions and skip it; small screens do not show it', async () => {
  const { page: newcomer, context } = await signInAs(browser, shoal, 'nora@squids.dev', { hasTour: true })
  const popover = newcomer.locator('.driver-popover')
  const waitForTitle = (title: string) => popover.getByText(title, { exact: true }).waitFor()
  const clickButton = (name: string) => popover.getByRole('button', { name }).click()
  const savedStep = () => newcomer.evaluate<string>("localStorage.getItem('onboardingGuide')")
  const distanceToEdge = () =>
    newcomer.evaluate<number>(`(() => {
      const { left, right } = document.querySelector('.driver-popover').getBoundingClientRect()
      return Math.min(left, innerWidth - right)
    })()`)
  await newcomer.goto('/squids')
  await waitForTitle('Account settings')
  expect(await distanceToEdge()).toBeGreaterThanOrEqual(4)
  await popover.getByText('1 / 4').waitFor()
  await clickButton('Next')
  await waitForTitle('API tokens')
  await clickButton('Next')
  await waitForTitle('Workspaces')
  expect(await distanceToEdge()).toBeGreaterThanOrEqual(4)
  await clickButton('Prev')
  await waitForTitle('API tokens')
  expect(await axeFlaws(newcomer)).toEqual([])
  await saveScreenshot(newcomer, 'tour')
  await clickButton('Next')
  await clickButton('Next')
  await newcomer.waitForURL(/\/settings/)
  await popover.getByText('4 / 4').waitFor()
  await clickButton('Finish')
  await popover.waitFor({ state: 'detached' })
  await expect.poll(() => savedStep()).toBe('4')
  await newcomer.evaluate("localStorage.setItem('onboardingGuide', '1')")
  await newcomer.setViewportSize({ width: 900, height: 900 })
  await newcomer.goto('/squids')
  await newcomer.getByRole('heading', { name: 'Squids', exact: true }).waitFor()
  await expect.poll(() => popover.count()).toBe(0)
  await newcomer.setViewportSize({ width: 1440, height: 900 })
  await waitForTitle('API tokens')
  await clickButton('Skip tour')
  await popover.waitFor({ state: 'detached' })
  await expect.poll(() => savedStep()).toBe('4')
  await context.close()
})

test('a failed deployment shows its first error without control characters, and its tooltip is one line', async () => {
  const kind = 'UNEXPECTED'
  const message = 'The server could not pack the image.\n\u001b[31mError: disk quota exceeded\u001b[39m\n    at pack'
  // The guide shows only deployments that begin after its first response.
  const newest = page.waitForResponse((response) => response.url().includes('/deployments?limit=1&'))
  await page.goto(`/squids/deploy?organization=${code}`)
  await newest
  await waitForText(page, 'Waiting for your deployment…')
  const id = await requestSimulatedDeploy(deployer, {
    name: 'unpacked',
    slot: 'v1',
    build: { fails: { kind, message } },
  })
  await waitForText(page, `Deployment ${id} failed`)
  expect(await page.getByRole('status').locator('code').innerText()).toBe('Error: disk quota exceeded')
  await page.getByRole('link', { name: 'Open log' }).click()
  await page.waitForURL(`**/squids/unpacked/v1/deployments/${id}`)
  const output = page.getByLabel('Error', { exact: true })
  await expect.poll(() => output.innerText()).toBe('Error: disk quota exceeded\n    at pack')

  const failedUpdate = { name: 'erc20-transfers', slot: 'v2', build: { fails: { kind, message } } }
  expect(await deploySimulated(deployer, failedUpdate)).toMatchObject({ failed: kind })
  await page.goto(`/squids/erc20-transfers/v2/deployments?organization=${code}`)
  const chip = page.locator('[data-row]').first().getByText('ERROR', { exact: true })
  await expect.poll(() => chip.getAttribute('data-tip')).toBe('The server could not pack the image.')
})

test('the list and the deploy guide are accessible in both themes and at every width', async () => {
  const flaws: string[] = []
  for (const [shot, path] of [
    ['squids', '/squids'],
    ['deploy', '/squids/deploy'],
  ] as const) {
    await page.goto(`${path}?organization=${code}`)
    await waitForText(page, shot === 'squids' ? '@v2' : 'Waiting for your deployment…')
    await expect.poll(() => page.locator('[aria-busy=true], .skeleton').count()).toBe(0)
    flaws.push(...(await accessibilityFlaws(page, shot)))
    await page.setViewportSize({ width: 1440, height: 900 })
  }
  expect(flaws).toEqual([])
})

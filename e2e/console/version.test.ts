import type { Deployment } from '@shoal/contract'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, saveScreenshot, axeFlaws, switchTheme } from '../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../support/console-shoal.ts'
import { waitForDeployment } from '../support/deploy.ts'
import { holdBuild } from '../support/hold-build.ts'
import { clipboard, clickButton, waitForText } from '../support/page.ts'
import { signInAs } from '../support/people.ts'
import {
  requestSimulatedDeploy,
  deploySimulated,
  type Deployer,
  type SimulatedSquid,
} from '../support/simulated-squid.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page
let deployer: Deployer
let playground: string

const code = 'version-labs'
const synced = {
  sync: { fromBlock: 23_881_000, headBlock: 23_881_204, headBlocksPerSecond: 0.01, blocksPerSecond: 2000 },
}
const syncing = {
  sync: { fromBlock: 14_220_871, headBlock: 20_849_010, headBlocksPerSecond: 0.5, blocksPerSecond: 2100 },
}
const transfers: SimulatedSquid = {
  name: 'erc20-transfers',
  slot: 'v1',
  tag: 'production',
  description: 'ERC-20 transfers with balances by holder',
  processors: { eth: synced, base: syncing },
}

const crashes = { print: ['Error: connect ECONNREFUSED'], ends: { afterMs: 6000, exitCode: 1 } }
const crashing: SimulatedSquid = { name: 'crashing', slot: 'v1', processors: { processor: crashes } }
const longLog = Array.from({ length: 3000 }, (_, n) => `line ${n} of the build`)
let rollbackDeployments: Deployment[]
let longLogDeployment: Deployment
let guest: Awaited<ReturnType<typeof signInAs>>

/** Deploys one version twice, so that it can be rolled back. */
async function deployTwice(): Promise<Deployment[]> {
  const first = await deploySimulated(deployer, { name: 'rolled', slot: 'v1', description: 'the first' })
  rollbackDeployments = [
    first,
    await deploySimulated(deployer, { name: 'rolled', slot: 'v1', description: 'the second' }),
  ]
  return rollbackDeployments
}

beforeAll(async () => {
  browser = await connectToBrowser()
  const people = ['mira@version.dev', 'guest@version.dev'].map((email) => signInAs(browser, shoal, email))
  const [person, other] = (await Promise.all(people)) as [typeof guest, typeof guest]
  guest = other
  page = person.page
  deployer = { shoal, org: code, token: person.token, api: person.api }
  await deployer.api.orgs.create({ body: { code, name: 'Acme Labs', email: 'mira@version.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const others = [transfers, { ...transfers, slot: 'v2', tag: 'old' }, crashing, { name: 'leaving', slot: 'v1' }]
  playground = (await deployer.api.orgs.list({})).find(({ limits }) => limits.playground)?.code ?? ''
  const free = deploySimulated({ ...deployer, org: playground }, { name: 'free', slot: 'v1' })
  const long = deploySimulated(deployer, { name: 'long-log', slot: 'v1', build: { prints: longLog } })
  const deployments = await Promise.all([
    ...others.map((version) => deploySimulated(deployer, version)),
    deployTwice(),
    free,
    long,
  ])
  longLogDeployment = await long
  expect(new Set(deployments.flat().map(({ failed }) => failed))).toEqual(new Set(['NO']))
})

afterAll(async () => {
  await browser?.close()
})

const squid = (reference: string) => deployer.api.squids.get({ params: { code, reference } })
const open = (reference: string, tab = '', target = page) =>
  target.goto(`/squids/${reference.replace('@', '/')}${tab}?organization=${code}`)
const tab = (name: string, target = page) =>
  target.getByRole('navigation', { name: 'Version' }).getByRole('link', { name })
const confirm = (name: string) => page.getByRole('alertdialog').getByRole('button', { name }).click()
/** Matches the start of the text, because the text of a disabled item also contains the reason. */
const menuItem = (name: string) => page.getByRole('menuitem', { name: new RegExp(`^${name}`) })
async function openActions(reference: string) {
  await clickButton(page, `Actions for ${reference}`)
  await page.getByRole('menu').waitFor()
}
const row = (text: string, target = page) => target.getByRole('row').filter({ hasText: text })

test('the header and the General tab describe the version and list its URLs', async () => {
  await open('erc20-transfers@v1')
  await page.getByRole('heading', { name: /^erc20-transfers@v1/ }).waitFor()
  await clickButton(page, 'Copy reference')
  await expect.poll(() => clipboard(page)).toBe('erc20-transfers@v1')
  await clickButton(page, 'Copy endpoint')
  await expect.poll(() => clipboard(page)).toBe(`${shoal.gatewayUrl}/${code}/erc20-transfers:production/api/graphql`)
  await waitForText(page, 'Tag URLs')
  await clickButton(page, 'Copy URL of production')
  await expect.poll(() => clipboard(page)).toBe(`${shoal.gatewayUrl}/${code}/erc20-transfers:production/api/graphql`)
  await waitForText(page, /^Immutable: it always points at this slot/)
  await waitForText(page, 'ERC-20 transfers with balances by holder')
  await waitForText(page, /% synced · 2,100 blocks\/s mapped · about \d+ min left/)
  const card = page.locator('section').filter({ hasText: 'Last deployment' })
  for (const step of ['Unpacking', 'Building', 'Addons', 'Starting', 'Adding addresses'])
    await card
      .getByRole('listitem')
      .filter({ hasText: step })
      .filter({ hasText: /\d m?s$/ })
      .waitFor()
  await expect
    .poll(() => page.getByRole('link', { name: 'GraphQL playground' }).getAttribute('href'))
    .toMatch(/\/playground$/)
  await page.getByRole('link', { name: 'Squids', exact: true }).last().click()
  await page.waitForURL(/\/squids$/)
})

test('details and processors show the observed state and update', async () => {
  await open('erc20-transfers@v1', '/details')
  await page.locator('section').filter({ hasText: 'API' }).getByText('Available', { exact: true }).waitFor()
  await waitForText(page, 'Collocated: shares CPU and memory with other squids')
  await page.locator('section').filter({ hasText: 'Postgres' }).getByText('Collocated', { exact: true }).waitFor()
  await tab('Processors').click()
  await row('eth').getByText('Synced').waitFor()
  await row('eth').getByText('100.00%').waitFor()
  const base = row('base')
  await base.getByText('Syncing').waitFor()
  await base.getByText(/^\d+ min$/).waitFor()
  const before = await base.innerText()
  // Without a reload, because the page polls.
  await expect.poll(() => base.innerText()).not.toBe(before)
  await base.locator('[data-row-menu]').click()
  await menuItem('Copy metrics URL').click()
  await expect
    .poll(() => clipboard(page))
    .toBe(`${shoal.gatewayUrl}/${code}/erc20-transfers@v1/processors/base/metrics`)
})

test('the card for database access shows the password only on request, and can always copy it', async () => {
  await open('erc20-transfers@v1', '/db')
  const [connection] = (await squid('erc20-transfers@v1')).addons.postgres?.connections ?? []
  const password = connection?.params.password ?? ''
  expect(password).not.toBe('')
  const panel = page.locator('section').filter({ hasText: 'Connection' })
  await panel.getByText(/^PGPASSWORD=•+ psql -h/).waitFor()
  expect(await page.content()).not.toContain(password)
  await clickButton(page, 'Copy PSQL')
  await expect.poll(() => clipboard(page)).toContain(`PGPASSWORD=${password} psql`)
  await page.getByRole('tab', { name: 'JDBC' }).click()
  await panel.getByText(/^jdbc:postgresql:.*password=•+$/).waitFor()
  await page.getByRole('tab', { name: 'URI' }).click()
  await clickButton(page, 'Show password')
  await panel.getByText(connection?.uri ?? '').waitFor()
  await waitForText(page, /\d+ of [\d,]+ MB|not measured yet/)

  await page.goto(`/squids/free/v1/db?organization=${playground}`)
  await waitForText(page, 'Database access requires the Pro plan, which a playground cannot have.')
  await page.getByRole('link', { name: 'Create an organization' }).waitFor()
  await expect.poll(() => page.getByText('psql').count()).toBe(0)
})

test('files are highlighted, and can be searched and copied', async () => {
  await open('erc20-transfers@v1', '/manifest')
  await page.locator('.hljs-attr').filter({ hasText: 'manifest_version' }).waitFor()
  await page.getByLabel('Search squid.yaml').fill('NAME:')
  await waitForText(page, '1 of 3')
  await page.keyboard.press('Enter')
  await waitForText(page, '2 of 3')
  await expect.poll(() => page.evaluate<number>("CSS.highlights.get('code-match').size")).toBe(3)
  await page.getByLabel('Search squid.yaml').fill('nowhere')
  await waitForText(page, 'No matches')
  await clickButton(page, 'Copy squid.yaml')
  await expect.poll(() => clipboard(page)).toContain('manifest_version: subsquid.io/v0.1')
  await tab('Package.json').click()
  await page.locator('.hljs-string').filter({ hasText: 'erc20-transfers' }).waitFor()
})

test('tags are added, moved from another version after a confirmation, and removed', async () => {
  await open('erc20-transfers@v1')
  await clickButton(page, 'Add tag')
  await page.getByRole('textbox', { name: 'Tag' }).fill('No Tag')
  await page.getByRole('dialog').getByRole('button', { name: 'Add tag' }).click()
  await waitForText(page, 'Only lowercase alphanumeric symbols and hyphens are allowed')
  expect(await axeFlaws(page)).toEqual([])
  await page.getByRole('textbox', { name: 'Tag' }).fill('fresh')
  await page.getByRole('dialog').getByRole('button', { name: 'Add tag' }).click()
  await page.getByRole('button', { name: 'Tag fresh' }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  await clickButton(page, 'Add tag')
  await page.getByRole('button', { name: 'old', exact: true }).click()
  await waitForText(page, 'It is on erc20-transfers@v2 and will move from there.')
  await page.getByRole('dialog').getByRole('button', { name: 'Add tag' }).click()
  await page.getByRole('alertdialog', { name: 'Move old to erc20-transfers@v1?' }).waitFor()
  await confirm('Move tag')
  await page.getByRole('button', { name: 'Tag old' }).waitFor()
  expect((await squid('erc20-transfers@v2')).tags).toEqual([])

  await clickButton(page, 'Tag fresh')
  expect(await axeFlaws(page)).toEqual([])
  await menuItem('Remove tag').click()
  await confirm('Remove tag')
  await page.getByRole('button', { name: 'Tag fresh' }).waitFor({ state: 'detached' })
})

test('the page shows a running deployment live, and a failed one at the top', async () => {
  const error = "src/mapping.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'"
  const message = ['npm run build ended with exit code 2.', '> tsc', error].join('\n')
  const failing = { kind: 'SOURCE_FILES_BUILD_FAILED', message }
  const { whileExists, end } = holdBuild()
  const broken: SimulatedSquid = {
    name: 'broken',
    slot: 'v1',
    build: { whileExists, prints: ['> tsc', `\u001b[31m${error}\u001b[0m`], fails: failing },
  }
  expect((await deploySimulated(deployer, { name: 'broken', slot: 'v1' })).failed).toBe('NO')
  const id = await requestSimulatedDeploy(deployer, broken)
  await open('broken@v1', '/deployments')
  await row(`#${id}`).locator('[aria-description="Building"]', { hasText: 'IMAGE_BUILDING' }).waitFor()
  await row(`#${id}`).getByRole('link').click()
  const steps = page.getByRole('list', { name: 'Steps' })
  await steps.getByRole('listitem').filter({ hasText: 'Building, running' }).waitFor()
  await steps.getByRole('listitem').filter({ hasText: 'Starting, pending' }).waitFor()
  const log = page.getByRole('region', { name: 'Log lines' })
  await log.getByText('> tsc').waitFor()
  const rollback = page.getByRole('button', { name: 'Roll back to this' })
  await expect.poll(() => rollback.getAttribute('aria-description')).toMatch(/is in progress/)
  end()
  await page
    .getByRole('alert')
    .filter({ hasText: 'The build failed' })
    .filter({ hasText: /TypeScript does not accept src\/mapping.ts, line 1/ })
    .filter({ hasText: 'The previous code keeps running.' })
    .waitFor()
  // The page shows the output in its colours, and the last line does not repeat the error, as soon as the output is loaded.
  await log.getByText(/npm run build ended with exit code 2.$/).waitFor()
  await log.locator('.text-bad').getByText(error).waitFor()
  await expect.poll(() => log.getByText('TS2322').count()).toBe(1)
  await clickButton(page, 'First error')
  await waitForText(page, 'ERROR')
  await steps.getByRole('listitem').filter({ hasText: 'Building, failed' }).waitFor()
  await expect
    .poll(() => rollback.getAttribute('aria-description'))
    .toBe('It failed, so there is nothing to roll back to.')
  await tab('General').click()
  const notice = page.getByRole('alert').filter({ hasText: `Last deploy failed (#${id})` })
  await notice.getByRole('code').filter({ hasText: error }).waitFor()
  await notice.getByText('The previous code keeps running.').waitFor()
  const help = notice.getByRole('link', { name: 'Causes and remedies' })
  expect(await help.getAttribute('href')).toBe('/docs/troubleshooting#source-files-build-failed')
  // The page does not also show the alert about the failure.
  await expect.poll(() => page.getByText('Last deploy was finished with an error').count()).toBe(0)
  expect(await accessibilityFlaws(page, 'failed-deploy-general')).toEqual([])
  await switchTheme(page, 'light')
  await tab('Logs').click()
  await page.waitForURL(/\/logs/)
  await notice.waitFor()
  await page.goto(`/squids/broken/v1/logs?organization=${code}&container=%40build`)
  await log.getByText('TS2322').waitFor()
  expect(await accessibilityFlaws(page, 'build-log')).toEqual([])
  await page.goto(`/squids?organization=${code}`)
  const failureLink = page.locator('[data-row="broken@v1"]').getByRole('link', { name: 'Last deploy failed' })
  await failureLink.waitFor()
  expect(await accessibilityFlaws(page, 'failed-deploy-list')).toEqual([])
  await switchTheme(page, 'light')
  await page.setViewportSize({ width: 1440, height: 900 })
  // After a change of tags, the page still shows that the deployment failed.
  const tagged = await deployer.api.squids.setTag({ params: { code, reference: 'broken@v1', tag: 'checked' } })
  await waitForDeployment(deployer, tagged.id)
  await page.locator('[data-row="broken@v1"]').getByText('checked').waitFor()
  await failureLink.click()
  await page.waitForURL(new RegExp(`/deployments/${id}$`))
  expect(await accessibilityFlaws(page, 'failed-deploy-page')).toEqual([])
  await switchTheme(page, 'light')
  await page.setViewportSize({ width: 1440, height: 900 })
  // The response is simulated, because every version has a deployment.
  const list = /\/deployments\?.*squidId=/
  await page.route(list, (route) => route.fulfill({ json: { payload: [] } }))
  await open('broken@v1', '/deployments')
  await waitForText(page, 'Deploys not found')
  await page.unroute(list)
  await open('broken@v1', '/deployments/99999')
  await waitForText(page, 'Deployment not found')
})

test('the log of a failed first deployment remains available, but the list has no version', async () => {
  const buildFailure = { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'tsc found 7 errors' }
  const build = { takesMs: 3000, fails: buildFailure }
  const id = await requestSimulatedDeploy(deployer, { name: 'first', slot: 'v1', build })
  await open('first@v1', `/deployments/${id}`)
  await page.getByRole('list', { name: 'Steps' }).getByText('Building').first().waitFor()
  const failed = page
    .getByRole('alert')
    .filter({ hasText: 'The build failed' })
    .filter({ hasText: 'tsc found 7 errors' })
  await failed.waitFor()
  await waitForText(page, 'The first deployment failed, so the version was not created')
  await page.getByRole('region', { name: 'Log lines' }).getByText('tsc found 7 errors').waitFor()
  expect(await axeFlaws(page)).toEqual([])
  await saveScreenshot(page, 'failed-first-light')
  await page.getByRole('link', { name: 'Squids', exact: true }).first().click()
  const notice = page.getByText(/The first deployment of first@v1 failed/)
  await notice.waitFor()
  await saveScreenshot(page, 'failed-first-list-light')
  await page.getByRole('link', { name: 'See why' }).click()
  await failed.waitFor()
})

test('the page renders and copies a long log in full', async () => {
  await open('long-log@v1', `/deployments/${longLogDeployment.id}`)
  const log = page.getByRole('region', { name: 'Log lines' })
  await log.getByText('line 0 of the build', { exact: true }).waitFor()
  await expect.poll(() => log.getByText(/line \d+ of the build/).count()).toBe(3000)
  await clickButton(page, 'Copy log')
  expect((await clipboard(page)).split('\n').filter((line) => line.startsWith('line '))).toEqual(longLog)
})

test('a version is rolled back to an earlier image after a confirmation', async () => {
  const [first, second] = rollbackDeployments
  await open('rolled@v1')
  await waitForText(page, 'the second')
  await openActions('rolled@v1')
  await menuItem('Roll back…').click()
  const dialog = page.getByRole('dialog', { name: 'Roll back rolled@v1' })
  await dialog.getByRole('radio', { name: new RegExp(`^Deployment ${first?.id} from`) }).waitFor()
  await expect.poll(() => dialog.getByRole('radio').count()).toBe(1)
  expect(await axeFlaws(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await tab('Deployments').click()
  await row(`#${second?.id}`).locator('[data-row-menu]').click()
  await menuItem('Roll back to this').filter({ hasText: 'This is the current image.' }).waitFor()
  await page.keyboard.press('Escape')
  await row(`#${first?.id}`).locator('[data-row-menu]').click()
  await menuItem('Roll back to this').click()
  await page.getByRole('alertdialog', { name: `Roll back rolled@v1 to deployment ${first?.id}?` }).waitFor()
  expect(await axeFlaws(page)).toEqual([])
  await confirm('Roll back')
  await page.waitForURL(/\/deployments\/\d+$/)
  await page.getByRole('heading', { name: /Rollback/ }).waitFor()
  await waitForText(page, 'SUCCEEDED')
  await tab('General').click()
  await waitForText(page, 'the first')
})

test('a hibernated version shows a notice, disables the tabs that need running programs, and can be restarted', async () => {
  await open('erc20-transfers@v2')
  await openActions('erc20-transfers@v2')
  await menuItem('Hibernate').click()
  await confirm('Hibernate')
  await waitForText(page, 'This version is hibernated')
  for (const disabled of ['Details', 'Processors', 'Logs', 'Metrics', 'DB access'])
    await expect.poll(() => tab(disabled).getAttribute('data-tip')).toBe('The version is hibernated. Restart it first.')
  await expect
    .poll(() => page.getByRole('button', { name: 'GraphQL playground' }).getAttribute('aria-disabled'))
    .toBe('true')
  await open('erc20-transfers@v2', '/db')
  await waitForText(page, 'Not available now')
  await tab('General').click()
  await clickButton(page, 'Restart')
  await waitForText(page, 'Restarting')
  await expect.poll(() => tab('Details').getAttribute('aria-disabled')).toBeNull()
})

test('the page says that a processor keeps crashing, and why', async () => {
  await open('crashing@v1')
  await page.getByText('processor keeps crashing').waitFor()
  await row('processor').getByText('Stuck').waitFor()
  await tab('Processors').click()
  await waitForText(page, /It was restarted \d+ times/)
  expect((await squid('crashing@v1')).alerts[0]?.severity).toBe('CRITICAL')
})

test('a viewer sees why they cannot change a version', async () => {
  const { id } = await deployer.api.orgs.inviteMember({
    params: { code },
    body: { email: 'guest@version.dev', roleType: 'viewer' },
  })
  await guest.api.orgs.acceptInvite({ params: { code, id: String(id) } })
  await open('erc20-transfers@v1', '', guest.page)
  const add = guest.page.getByRole('button', { name: 'Add tag' })
  await add.waitFor()
  const menu = guest.page.getByRole('button', { name: 'Actions for erc20-transfers@v1' })
  await expect.poll(() => menu.getAttribute('aria-description')).toMatch(/^Your role can view squids/)
  await expect.poll(() => add.getAttribute('aria-description')).toMatch(/^Your role can view squids/)
  await guest.context.close()
})

test('while a version loads, its page shows the name', async () => {
  const response = Promise.withResolvers<void>()
  await page.route(/squids\/erc20-transfers(@|%40)v1/, (route) => response.promise.then(() => route.continue()))
  await open('erc20-transfers@v1')
  await page.getByRole('heading', { name: 'erc20-transfers@v1' }).waitFor()
  await page.getByRole('status', { name: 'Loading' }).waitFor()
  expect(await axeFlaws(page)).toEqual([])
  response.resolve()
  await waitForText(page, 'Canonical URL')
  await page.unrouteAll({ behavior: 'wait' })
})

test('the playground and the schema of an unknown version show "not found"', async () => {
  for (const subpage of ['/playground', '/schema']) {
    await open('unknown@v9', subpage)
    await expect.poll(() => page.getByText('Version not found').count(), { message: subpage }).toBe(1)
  }
})

test('the page of an unknown version shows "not found" even while it polls', async () => {
  await open('unknown@v9')
  await waitForText(page, 'Version not found')
  // The response takes long, and the page requests the version every five seconds.
  const versionResponse = Promise.withResolvers<void>()
  const versionUrl = /squids\/unknown(@|%40)v9/
  const requested = Promise.withResolvers<void>()
  await page.route(versionUrl, (route) => {
    requested.resolve()
    return versionResponse.promise.then(() => route.continue())
  })
  await requested.promise
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  expect(await page.getByText('Version not found').count()).toBe(1)
  versionResponse.resolve()
  await page.unrouteAll({ behavior: 'wait' })
})

test('the page of an unknown version shows "not found"; a user who deletes a version is redirected from its page to the list', async () => {
  await open('unknown@v9')
  await waitForText(page, 'Version not found')
  await open('leaving@v1')
  await waitForText(page, 'Canonical URL')
  await expect.poll(() => page.title()).toBe('General · leaving@v1 · Shoal')
  await openActions('leaving@v1')
  expect(await axeFlaws(page)).toEqual([])
  await menuItem('Delete').click()
  const confirmButton = page.getByRole('alertdialog').getByRole('button', { name: 'Delete' })
  await expect.poll(() => confirmButton.getAttribute('aria-disabled')).toBe('true')
  await page.getByLabel('Type leaving@v1 to confirm').fill('leaving@v1')
  await confirmButton.click()
  await page.waitForURL(/\/squids(\?|$)/)
  await waitForText(page, 'leaving@v1 has been deleted')
})

test('every tab is accessible in both themes and at every width', async () => {
  const first = (await deployer.api.deployments.list({ params: { code }, query: {} })).findLast(
    (deployment) => deployment.squid?.reference === 'erc20-transfers@v1',
  )
  const screens = [
    ['general', 'erc20-transfers@v1', ''],
    ['details', 'erc20-transfers@v1', '/details'],
    ['processors', 'erc20-transfers@v1', '/processors'],
    ['db', 'erc20-transfers@v1', '/db'],
    ['manifest', 'erc20-transfers@v1', '/manifest'],
    ['deployments', 'erc20-transfers@v1', '/deployments'],
    ['deployment', 'erc20-transfers@v1', `/deployments/${first?.id}`],
    ['broken', 'broken@v1', ''],
    ['not-found', 'unknown@v9', ''],
  ] as const
  const flaws: string[] = []
  const check = async ([shot, reference, part]: (typeof screens)[number], screenPage: Page) => {
    await open(reference, part, screenPage)
    await screenPage.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => screenPage.locator('[aria-busy=true], [aria-label=Loading]').count()).toBe(0)
    flaws.push(...(await accessibilityFlaws(screenPage, `version-${shot}`)))
  }
  // Two pages are checked in parallel, because this takes long. Each has its own context, because pages of one context share the theme.
  const { page: second } = await signInAs(browser, shoal, 'mira@version.dev')
  await Promise.all(
    [page, second].map(async (screenPage, half) => {
      for (const [index, screen] of screens.entries()) if (index % 2 === half) await check(screen, screenPage)
    }),
  )
  expect(flaws).toEqual([])
})

import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws, saveScreenshot, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { clipboard, waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

type Person = Awaited<ReturnType<typeof signInAs>>

const code = 'harbour-rpc'
const shoal = consoleShoal()
let browser: Browser
let admin: Person
let developer: Person
let viewer: Person

beforeAll(async () => {
  browser = await connectToBrowser()
  admin = await signInAs(browser, shoal, 'admin@rpc.dev')
  await admin.api.orgs.create({ body: { code, name: 'Harbour Analytics', email: 'admin@rpc.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  ;[developer, viewer] = await Promise.all([addMember('developer'), addMember('viewer')])
})

afterAll(async () => {
  await browser?.close()
})

async function setNodeUrl(): Promise<void> {
  const secrets = [{ action: 'UPDATE' as const, name: 'NODE_URL', value: 'https://node.example.com' }]
  await admin.api.secrets.change({ params: { code }, body: { secrets } })
}

async function addMember(roleType: 'developer' | 'viewer'): Promise<Person> {
  const email = `${roleType}@rpc.dev`
  const { id } = await admin.api.orgs.inviteMember({ params: { code }, body: { email, roleType } })
  const person = await signInAs(browser, shoal, email)
  await person.api.orgs.acceptInvite({ params: { code, id: String(id) } })
  return person
}

const open = (page: Page, path: string) => page.goto(`${path}${path.includes('?') ? '&' : '?'}organization=${code}`)
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).first().waitFor()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })

test('an administrator adds, edits and deletes secrets, and sees which versions need a restart', async () => {
  const { page, api } = admin
  await open(page, '/secrets')
  await waitForText(page, 'No secrets yet')
  await page.getByRole('link', { name: 'Add secret' }).click()
  await heading(page, 'New secret')
  await button(page, 'Add').click()
  await waitForText(page, 'Secret name is required')
  await waitForText(page, 'Value is required')
  await page.getByLabel('Name').pressSequentially('1key-x')
  await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('1KEY-X')
  await button(page, 'Add').click()
  await waitForText(
    page,
    'Only latin letters, numbers and the underscore symbol are allowed for the secret name. The secret name cannot start with a number',
  )
  await page.getByLabel('Name').fill('a'.repeat(64))
  await button(page, 'Add').click()
  await waitForText(page, 'Max 63 symbols.')
  expect(await axeFlaws(page)).toEqual([])
  await page.getByLabel('Name').fill('api_key')
  await page.getByLabel('Value').fill(' the first value ')
  await button(page, 'Add').click()
  await rowOf(page, 'API_KEY').getByText('Unused').waitFor()

  const deployer = { shoal, org: code, token: admin.token, api }
  const print = { print: ['the key is ${{ secrets.API_KEY }}'] }
  const deployment = await deploySimulated(deployer, { name: 'fleet', slot: 'v1', processors: { processor: print } })
  expect(deployment.failureReason).toBeNull()
  await open(page, '/secrets')
  await rowOf(page, 'API_KEY').getByRole('link', { name: 'fleet@v1' }).waitFor()
  await rowOf(page, 'API_KEY').getByText('Applied').waitFor()

  await page.getByRole('link', { name: 'Add secret' }).click()
  await page.getByLabel('Name').fill('API_KEY')
  await page.getByLabel('Value').fill('another')
  await button(page, 'Add').click()
  await waitForText(page, 'A secret with this name exists. Edit its value instead.')

  await open(page, '/secrets/edit/API_KEY')
  await heading(page, 'Edit value')
  await button(page, 'Update').click()
  await waitForText(page, 'Value is required')
  await page.getByLabel('New value').fill('the second value')
  await button(page, 'Update').click()
  const dialog = page.getByRole('alertdialog', { name: 'Update API_KEY?' })
  await dialog.getByText('A redeploy or restart is needed to apply the new one: fleet@v1.').waitFor()
  await saveScreenshot(page, 'secret-update-dialog')
  expect(await axeFlaws(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Update' }).click()
  await waitForText(page, 'Secrets changed, restart to apply')
  await rowOf(page, 'API_KEY').getByText('Restart needed').waitFor()
  await saveScreenshot(page, 'secrets-outdated')

  await api.squids.restart({ params: { code, reference: 'fleet@v1' } })
  // The page polls, so it needs no reload.
  await rowOf(page, 'API_KEY').getByText('Applied').waitFor()
  await expect.poll(() => page.getByText('Secrets changed, restart to apply').count()).toBe(0)

  const { logs } = await api.logs.history({ params: { code, reference: 'fleet@v1' }, query: { limit: '1000' } })
  const lines = JSON.stringify(logs)
  expect(lines).toContain('the key is ***')
  expect(lines).not.toMatch(/the (first|second) value/)

  await rowOf(page, 'API_KEY').locator('[data-row-menu]').click()
  await page.getByRole('menu').waitFor()
  expect(await axeFlaws(page)).toEqual([])
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('alertdialog', { name: 'Delete API_KEY?' }).getByRole('button', { name: 'Delete' }).click()
  await waitForText(page, 'No secrets yet')
  await page.goto('/organizations/secretes')
  await heading(page, 'Secrets')
})

test('other members see the names of secrets, and why they cannot change them', async () => {
  await setNodeUrl()
  for (const { page } of [developer, viewer]) {
    await open(page, '/secrets')
    const add = button(page, 'Add secret')
    await expect.poll(() => add.getAttribute('aria-description')).toBe('Only administrators may manage secrets.')
    await rowOf(page, 'NODE_URL').locator('[data-row-menu]').click()
    const edit = page.getByRole('menuitem', { name: /^Edit value/ })
    await expect.poll(() => edit.getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
    for (const path of ['/secrets/add', '/secrets/edit/NODE_URL']) {
      await open(page, path)
      await waitForText(page, 'Only administrators may manage secrets.')
    }
    await open(page, '/rpc/token')
    await expect
      .poll(() => button(page, 'Refresh').getAttribute('aria-description'))
      .toBe('Only administrators may refresh the RPC token.')
  }
  await developer.page.getByRole('textbox', { name: 'RPC token' }).waitFor()
  await waitForText(viewer.page, /^Your role cannot see passwords and tokens/)
  await expect.poll(() => viewer.page.getByRole('textbox', { name: 'RPC token' }).count()).toBe(0)
  await open(viewer.page, '/rpc/chains/eth')
  await waitForText(viewer.page, /^Replace \{TOKEN\} with the API token/)
})

test('the RPC token is hidden until shown, and can be copied; only an active organization can refresh it', async () => {
  const { page, api } = admin
  const currentToken = async () => (await api.rpc.getToken({ params: { code } })).token
  const refresh = async () => {
    await button(page, 'Refresh').click()
    const dialog = page.getByRole('alertdialog', { name: 'Refresh the RPC token?' })
    await dialog.getByRole('button', { name: 'Refresh' }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await open(page, '/rpc')
  await page.getByRole('navigation', { name: 'RPC' }).getByRole('link', { name: 'API token' }).click()
  const field = page.getByRole('textbox', { name: 'RPC token' })
  const before = await currentToken()
  await expect.poll(() => field.inputValue()).toMatch(/^•+$/)
  await button(page, 'Show token').click()
  await expect.poll(() => field.inputValue()).toBe(before)
  await button(page, 'Copy RPC token').click()
  await expect.poll(() => clipboard(page)).toBe(before)
  await refresh()
  await waitForText(page, 'The RPC token has been replaced')
  const after = await currentToken()
  expect(after).not.toBe(before)
  await button(page, 'Copy RPC token').click()
  await expect.poll(() => clipboard(page)).toBe(after)

  await shoal.cli('org', 'set-status', '--code', code, '--status', 'DRAFT')
  await refresh()
  await waitForText(
    page,
    'Action is not allowed: Organization is not active. Please make sure your billing information is set up correctly.',
  )
  await expect.poll(() => currentToken()).toBe(after)
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
})

test('endpoints can be found by name, type and usage; a chain page shows instructions and the state of its nodes', async () => {
  const { page, api } = admin
  const { token } = await api.rpc.getToken({ params: { code } })
  const url = `${new URL(shoal.gatewayUrl).origin}/rpc/eth/${token}`
  for (const method of ['eth_gasPrice', 'eth_chainId'])
    await fetch(url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }) })
  const requestCount = async () =>
    (await api.rpc.listChains({ params: { code } })).find(({ id }) => id === 'eth')?.requests
  await expect.poll(requestCount).toBe('2')

  await open(page, '/rpc')
  const cards = page.getByRole('list', { name: 'RPC endpoints' }).getByRole('link')
  await cards.first().waitFor()
  const total = await cards.count()
  await button(page, 'Substrate').click()
  await page.waitForURL(/type=substrate/)
  const substrate = await cards.count()
  expect(substrate).toBeLessThan(total)
  await button(page, 'EVM').click()
  await expect.poll(() => cards.count()).toBeGreaterThan(substrate)
  await button(page, 'Usage').click()
  await page.waitForURL(/sortBy=usage/)
  await expect.poll(() => cards.first().textContent()).toContain('2 req.')
  await page.getByLabel('Find endpoint').fill('moonb')
  await page.waitForURL(/search=moonb/)
  await expect.poll(async () => (await cards.allTextContents()).every((text) => /moonb/i.test(text))).toBe(true)
  await page.getByLabel('Find endpoint').fill('nothing like it')
  await waitForText(page, 'Nothing found for “nothing like it”')

  const tokenResponse = Promise.withResolvers<void>()
  const delay = (route: Route) => tokenResponse.promise.then(() => route.continue())
  await page.route(/\/rpc\/token$/, delay, { times: 1 })
  await open(page, '/rpc/chains/eth')
  await page.getByRole('heading', { level: 1, name: 'Ethereum' }).waitFor()
  // The user cannot copy the URL before the page has received the token, without which the URL is useless.
  await expect.poll(() => button(page, 'Copy endpoint').count()).toBe(0)
  tokenResponse.resolve()
  await waitForText(page, /\/rpc\/eth\/\{TOKEN\}/)
  await button(page, 'Copy endpoint').click()
  await expect.poll(() => clipboard(page)).toBe(url)
  await button(page, 'Copy WebSocket endpoint').click()
  await expect.poll(() => clipboard(page)).toBe(url.replace(/^http/, 'ws'))
  await rowOf(page, 'own node').getByText('Healthy').waitFor()
  await rowOf(page, 'own node').getByText('100', { exact: true }).waitFor()
  const tab = (name: string) => page.getByRole('tab', { name, exact: true })
  const panel = page.getByRole('tabpanel')
  for (const [name, snippet] of [
    ['.env', 'RPC_ETH_HTTP='],
    ['squid.yaml', '- eth.http'],
    ['viem', 'createPublicClient'],
    ['viem WebSocket', 'watchBlocks'],
    ['ethers', 'JsonRpcProvider'],
    ['curl', 'eth_blockNumber'],
  ] as const) {
    await tab(name).click()
    await panel.getByText(snippet).waitFor()
    await button(page, `Copy ${name}`).click()
    const copied = await clipboard(page)
    expect(copied).toContain(name === 'squid.yaml' ? 'rpc:' : token)
    expect(await panel.textContent()).not.toContain(token)
  }
  await page.getByRole('img', { name: /Requests by method.*eth_gasPrice: 1/ }).waitFor()

  await open(page, '/rpc/chains/polkadot')
  await waitForText(page, 'This chain has no upstream yet')
  await tab('curl').waitFor()
  await expect.poll(() => page.getByRole('tab').allTextContents()).toEqual(['.env', 'squid.yaml', 'curl'])
  await open(page, '/rpc/chains/no-such-chain')
  await heading(page, 'Chain not found')
})

test('the Portal requires an organization and the beta flag; RPC requires an organization', async () => {
  const { page, context, api } = admin
  await open(page, '/portal/chains')
  await page.waitForURL(/\/squids/)
  await context.addCookies([{ name: 'beta', value: 'true', url: shoal.url }])
  await open(page, '/portal')
  const cards = page.getByRole('list', { name: 'Datasets' }).getByRole('link')
  await cards.first().waitFor()
  await button(page, 'Substrate').click()
  await page.waitForURL(/type=substrate/)
  await page.getByLabel('Find dataset').fill('kusama')
  await cards.filter({ hasText: 'kusama' }).first().click()
  await waitForText(page, 'This dataset has no source yet')
  await open(page, '/portal/chains/ethereum-mainnet')
  await waitForText(page, 'Built from the RPC endpoint')
  await button(page, 'Copy Portal URL').click()
  await expect.poll(() => clipboard(page)).toBe(`${new URL(shoal.gatewayUrl).origin}/portal/datasets/ethereum-mainnet`)
  await page.getByRole('tab', { name: 'squid.yaml' }).click()
  await page.getByRole('tabpanel').getByText('PORTAL_ETHEREUM_MAINNET_URL').waitFor()

  const playground = (await api.user.get({})).organizations.find(({ limits }) => limits.playground)
  for (const path of ['/rpc', '/rpc/token', '/rpc/chains/eth', '/portal/chains', '/portal/chains/ethereum-mainnet']) {
    await page.goto(`${path}?organization=${playground?.code}`)
    await page.waitForURL(/\/squids/)
    const items = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents()
    expect(items.join(' ')).not.toMatch(/RPC|Portal/)
  }
})

test('every page is accessible in both themes and at every width', async () => {
  const pages: [shot: string, path: string, title: string][] = [
    ['secrets', '/secrets', 'Secrets'],
    ['secret-add', '/secrets/add', 'New secret'],
    ['secret-edit', '/secrets/edit/NODE_URL', 'Edit value'],
    ['rpc', '/rpc', 'RPC endpoints'],
    ['rpc-token', '/rpc/token', 'RPC endpoints'],
    ['rpc-chain', '/rpc/chains/eth', 'Ethereum'],
    ['portal', '/portal/chains', 'Portal'],
    ['portal-dataset', '/portal/chains/ethereum-mainnet', 'Ethereum'],
  ]
  const flaws: string[] = []
  const { page, context } = admin
  await setNodeUrl()
  await context.addCookies([{ name: 'beta', value: 'true', url: shoal.url }])
  for (const [shot, path, title] of pages) {
    await open(page, path)
    await page.getByRole('heading', { level: 1, name: new RegExp(title) }).waitFor()
    await expect.poll(() => page.locator('[aria-busy=true], [aria-label=Loading], .skeleton').count()).toBe(0)
    // The page draws the chart last.
    if (shot === 'rpc-chain') await page.locator('canvas').waitFor()
    flaws.push(...(await accessibilityFlaws(page, shot)))
    await page.setViewportSize({ width: 1440, height: 900 })
  }
  expect(flaws).toEqual([])
})

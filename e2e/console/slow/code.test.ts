import { buildSchema, graphqlSync } from 'graphql'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { clipboard, waitForText } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated, type Deployer, type SimulatedSquid } from '../../support/simulated-squid.ts'

const shoal = consoleShoal()
let browser: Browser
let page: Page
let deployer: Deployer
const ids: number[] = []

const code = 'code-views'
const squid: SimulatedSquid = { name: 'coded', slot: 'v1' }
const lines = Array.from({ length: 60 }, (_, i) => `const value${i} = ${i}`)

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, 'olga@code-views.dev')
  page = person.page
  deployer = { shoal, org: code, token: person.token, api: person.api }
  await person.api.orgs.create({ body: { code, name: 'Code views', email: 'olga@code-views.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const versions: Partial<SimulatedSquid>[] = [
    { files: { 'main.ts': lines.join('\n'), 'old.ts': 'old()', 'logo.png': 'one' } },
    {
      description: 'now described',
      files: { 'main.ts': lines.with(30, 'const other = 1').join('\n'), 'new.ts': 'fresh()', 'logo.png': 'three' },
    },
    { description: 'now described' },
  ]
  for (const version of versions) {
    const deployment = await deploySimulated(deployer, { ...squid, ...version })
    expect(deployment.failed).toBe('NO')
    ids.push(deployment.id)
  }
})

afterAll(async () => {
  await browser?.close()
})

const file = (path: string) => page.locator('details').filter({ has: page.getByText(path, { exact: true }) })

test('the code of a deployment is compared with the previous deployment, or with a selected deployment', async () => {
  await page.goto(`/squids/coded/v1/deployments/${ids[1]}?organization=${code}`)
  await page.getByRole('link', { name: 'What changed' }).click()
  await waitForText(page, '3 changed, 1 added, 1 removed, 2 unchanged')
  const paths = await page.locator('details > summary code').allTextContents()
  expect(paths).toEqual(['squid.yaml', 'main.ts', 'new.ts', 'old.ts', 'logo.png'])
  await expect.poll(() => file('squid.yaml').locator('ins').allTextContents()).toEqual(['description: now described'])
  await expect.poll(() => file('main.ts').locator('del').allTextContents()).toEqual(['const value30 = 30'])
  await expect.poll(() => file('main.ts').getByText('value29').count()).toBe(1)
  await expect.poll(() => file('main.ts').getByText('value20').count()).toBe(0)
  await waitForText(page, '3 B → 5 B')
  await file('logo.png').locator('summary').click()
  await waitForText(page, 'Shoal records only the size of binaries')
  expect(await accessibilityFlaws(page, 'changes')).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })

  await page.goto(`/squids/coded/v1/deployments/${ids[2]}/changes?organization=${code}`)
  await waitForText(page, '0 changed, 0 added, 3 removed, 3 unchanged')
  await page.getByRole('button', { name: /Compared with$/ }).click()
  await page.getByRole('option', { name: `#${ids[0]} ` }).click()
  await waitForText(page, '1 changed, 0 added, 3 removed, 2 unchanged')
  expect(new URL(page.url()).searchParams.get('against')).toBe(String(ids[0]))

  await page.goto(`/squids/coded/v1/deployments/${ids[0]}/changes?organization=${code}`)
  await waitForText(page, 'Nothing to compare with')
  expect(await accessibilityFlaws(page, 'changes-empty')).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
})

test('the menu of a deployment in the list opens what it changed', async () => {
  await page.goto(`/squids/coded/v1/deployments?organization=${code}`)
  await page.getByRole('button', { name: `Actions for deployment ${ids[1]}` }).click()
  await page.getByRole('menuitem', { name: 'What changed' }).click()
  await waitForText(page, '3 changed, 1 added, 1 removed, 2 unchanged')
  expect(new URL(page.url()).pathname).toBe(`/squids/coded/v1/deployments/${ids[1]}/changes`)
})

test('a viewer sees that their role hides the code', async () => {
  await deployer.api.orgs.inviteMember({ params: { code }, body: { email: 'vera@code-views.dev', roleType: 'viewer' } })
  const viewer = await signInAs(browser, shoal, 'vera@code-views.dev')
  const [invitation] = await viewer.api.user.listInvites({})
  await viewer.api.orgs.acceptInvite({ params: { code, id: String(invitation?.id) } })
  await viewer.page.goto(`/squids/coded/v1/deployments/${ids[1]}/changes?organization=${code}`)
  await waitForText(viewer.page, 'The code is not shown to you')
  await expect.poll(() => viewer.page.locator('details').count()).toBe(0)
  await viewer.context.close()
})

const schema = buildSchema(`
  "A transfer of a token"
  type Transfer { id: ID! from: Account! amount: Int! }
  type Account { id: ID! transfers(limit: Int): [Transfer!]! }
  enum Kind { MINT BURN }
  type Query { transfers(limit: Int): [Transfer!]! kinds: [Kind!]! }
`)

test('the schema is searchable, its types link to each other, and queries can be copied', async () => {
  // The programs of the sim driver serve no schema.
  await page.route(/\/v1\/graphql$|coded.*graphql/, async (route) => {
    const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' }
    const { query } = (route.request().postDataJSON() ?? {}) as { query?: string }
    if (query === undefined) return route.fulfill({ headers })
    return route.fulfill({ headers, json: graphqlSync({ schema, source: query }) })
  })
  await page.goto(`/squids/coded/v1/playground?organization=${code}`)
  await page.getByRole('link', { name: 'Schema' }).click()
  const types = page.getByRole('navigation', { name: 'Types' })
  await types.getByRole('link', { name: /^Query/ }).waitFor()
  await page.getByRole('heading', { name: 'Query' }).waitFor()
  await page.getByRole('link', { name: '[Transfer!]!' }).click()
  await page.getByRole('heading', { name: 'Transfer' }).waitFor()
  await waitForText(page, 'A transfer of a token')
  expect(new URL(page.url()).searchParams.get('type')).toBe('Transfer')
  expect(await accessibilityFlaws(page, 'schema')).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByLabel('Search types and fields').fill('BURN')
  await expect.poll(() => types.getByRole('link').allTextContents()).toEqual(['Kindenum'])
  await page.locator('mark', { hasText: 'BURN' }).waitFor()
  await page.getByLabel('Search types and fields').fill('nothing like it')
  await waitForText(page, 'Nothing matches')

  await page.getByRole('tab', { name: 'graphql-request' }).click()
  await page.getByRole('button', { name: 'Copy graphql-request' }).click()
  await expect.poll(() => clipboard(page)).toMatch(/import \{ gql, request \}[^]*transfers\(limit: 10\)/)
  await page.getByRole('tab', { name: 'cURL' }).click()
  await page.getByRole('button', { name: 'Copy cURL' }).click()
  await expect.poll(() => clipboard(page)).toMatch(/^curl .*\/graphql$/s)
  await page.unroute(/\/v1\/graphql$|coded.*graphql/)
})

test('the page says that the schema of an API without introspection cannot be loaded', async () => {
  await page.goto(`/squids/coded/v1/schema?organization=${code}`)
  await waitForText(page, 'The schema could not be loaded')
  expect(await accessibilityFlaws(page, 'schema-failed')).toEqual([])
})

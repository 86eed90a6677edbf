import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectToBrowser } from '../../support/console-shoal.ts'
import { accessibilityFlaws } from '../../support/browser.ts'
import { signInAs } from '../../support/people.ts'
import { startShoal, type Shoal } from '../../support/shoal.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const code = 'engine-labs'
let shoal: Shoal
let browser: Browser
let page: Page

const manifest = `manifest_version: subsquid.io/v0.1
name: engines
deploy:
  addons:
    postgres:
    hasura:
      env: {HASURA_GRAPHQL_ADMIN_SECRET: key}
  processor: {cmd: [node, lib/main.js]}
  api: {cmd: [node, lib/main.js]}
scale:
  dedicated: true
  addons:
    hasura: {profile: medium, replicas: 2}
`

beforeAll(async () => {
  ;[shoal, browser] = await Promise.all([
    startShoal({ SHOAL_RUNTIME: 'sim', SHOAL_OUTBOX: 'true', SHOAL_HASURA_PROGRAM: '/opt/graphql-engine' }),
    connectToBrowser(),
  ])
  const person = await signInAs(browser, shoal, 'hana@engines.dev')
  page = person.page
  await person.api.orgs.create({ body: { code, name: 'Engine Labs', email: 'hana@engines.dev' } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const deployment = await deploySimulated(
    { ...person, shoal, org: code },
    { name: 'engines', slot: 'v1', tag: 'prod', files: { 'squid.yaml': manifest } },
  )
  expect(deployment.failureReason).toBeNull()
})

afterAll(async () => {
  await browser?.close()
  await shoal?.end()
})

test('the Details tab has a card for Hasura with its status, addresses, replicas and profile', async () => {
  await page.goto(`/squids/engines/v1/details?organization=${code}`)
  const card = page.locator('[data-card]', { has: page.getByRole('heading', { name: 'Hasura' }) })
  await expect.poll(() => card.innerText(), { timeout: 60_000 }).toContain('Available')
  const text = await card.innerText()
  for (const part of ['engines@v1/hasura/v1/graphql', 'engines:prod/hasura/v1/graphql', 'Medium', '2'])
    expect(text).toContain(part)
  expect(await accessibilityFlaws(page, 'details-hasura')).toEqual([])
})

test('logs can be filtered by Hasura, and the cost calculator on the billing page has a field for Hasura', async () => {
  await page.goto(`/squids/engines/v1/logs?organization=${code}`)
  await page.getByRole('button', { name: /Containers$/ }).click()
  await expect.poll(() => page.getByRole('option', { name: 'hasura' }).count(), { timeout: 60_000 }).toBe(1)
  await page.goto(`/billing?organization=${code}`)
  await page.getByLabel('Number of Hasura').waitFor()
})

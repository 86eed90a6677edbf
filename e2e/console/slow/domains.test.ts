import { request } from 'node:https'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPebble, startPebble, type Pebble } from '../../../scripts/pebble.ts'
import { accessibilityFlaws, pageErrors, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { clipboard } from '../../support/page.ts'
import { signInAs } from '../../support/people.ts'
import { startShoal, type Shoal } from '../../support/shoal.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'
import { until } from '../../support/until.ts'

const code = 'harbour-domains'
const gatewayName = 'squids.shoal.test'
const name = 'api.example.com'
/** A domain for which the authority refuses orders. */
const blocked = 'blocked.shoal.test'
let browser: Browser

beforeAll(async () => {
  browser = await connectToBrowser()
})
afterAll(() => browser?.close())

test('an installation that orders no certificates says that it serves no domains', async () => {
  const { page, api } = await signInAs(browser, consoleShoal(), 'admin@no-domains.dev')
  await api.orgs.create({ body: { code: 'no-domains', name: 'Harbour', email: 'admin@no-domains.dev' } })
  await page.goto('/settings/domains?organization=no-domains')
  await page.getByText('This installation serves no domains of organizations').waitFor()
  expect(await page.getByRole('button', { name: 'Add domain' }).count()).toBe(0)
})

describe.skipIf(!hasPebble())('with an ACME authority and a DNS server', () => {
  let pebble: Pebble
  let shoal: Shoal
  let page: Page
  let viewer: Page
  let records: (domain: string) => Promise<{ type: string; name: string; value: string }[]>

  beforeAll(async () => {
    pebble = await startPebble()
    shoal = await startShoal({
      ...pebble.settings,
      SHOAL_RUNTIME: 'sim',
      SHOAL_TLS: 'acme',
      SHOAL_TLS_PORT: String(pebble.tlsPort),
      SHOAL_TLS_REDIRECT_PORT: String(pebble.httpPort),
      SHOAL_TLS_HOST: '127.0.0.1',
      SHOAL_PUBLIC_URL: 'https://console.shoal.test',
      SHOAL_GATEWAY_URL: `https://${gatewayName}/{org}`,
      SHOAL_DNS_SERVERS: pebble.dnsServer,
    })
    const admin = await signInAs(browser, shoal, 'admin@domains.dev')
    const viewerUser = await signInAs(browser, shoal, 'vic@domains.dev')
    await admin.api.orgs.create({ body: { code, name: 'Harbour Analytics', email: 'admin@domains.dev' } })
    await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
    const invitation = { email: 'vic@domains.dev', roleType: 'viewer' } as const
    const { id } = await admin.api.orgs.inviteMember({ params: { code }, body: invitation })
    await viewerUser.api.orgs.acceptInvite({ params: { code, id: String(id) } })
    page = admin.page
    viewer = viewerUser.page
    const deployer = { shoal, org: code, token: admin.token, api: admin.api }
    await deploySimulated(deployer, { name: 'tides', slot: 'v1', tag: 'prod' })
    records = async (domain) => {
      const { domains } = await admin.api.domains.list({ params: { code } })
      return domains.find((listed) => listed.name === domain)?.records ?? []
    }
  })

  afterAll(async () => {
    await shoal?.end()
    await pebble?.end()
  })

  const open = (target = page) => target.goto(`/settings/domains?organization=${code}`)
  const setRecords = async (domain: string) => {
    for (const { type, name: host, value } of await records(domain))
      await (type === 'TXT'
        ? pebble.dns('/set-txt', { host: `${host}.`, value })
        : pebble.dns('/set-cname', { host: `${host}.`, target: `${value}.` }))
  }
  const addDomain = async (domain: string) => {
    await page.getByRole('button', { name: 'Add domain' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add domain' })
    await dialog.getByLabel('Domain', { exact: true }).fill(domain)
    await dialog.getByLabel('Squid and tag').selectOption('tides:prod')
    await dialog.getByRole('button', { name: 'Add domain' }).click()
  }
  const cardOf = (domain: string) =>
    page.locator('section').filter({ has: page.getByRole('heading', { name: domain }) })

  test('an administrator adds a domain, and sees the records to set', async () => {
    await page.goto(`/settings?organization=${code}`)
    await page.getByRole('link', { name: 'Domains', exact: true }).click()
    await page.getByText('No domains yet').waitFor()
    expect(await accessibilityFlaws(page, 'domains-empty')).toEqual([])
    await addDomain('printer.local')
    const dialog = page.getByRole('dialog', { name: 'Add domain' })
    await dialog.getByText('Enter the name of a public host, such as api.example.com.').waitFor()
    expect(await axeFlaws(page)).toEqual([])
    await dialog.getByLabel('Domain', { exact: true }).fill('API.Example.com')
    await dialog.getByRole('button', { name: 'Add domain' }).click()
    const card = cardOf(name)
    await card.getByText('Waiting for DNS').waitFor()
    await card.getByText(`DNS has no TXT record _shoal.${name}.`).waitFor()
    await card.getByRole('button', { name: `Copy value of the TXT record of ${name}` }).click()
    const txt = (await records(name)).find(({ type }) => type === 'TXT')
    await until(async () => (await clipboard(page)) === txt?.value, 'the value is on the clipboard')
    expect(await accessibilityFlaws(page, 'domains-waiting')).toEqual([])
  })

  test('the page names a wrong DNS record, and with correct records the domain works', async () => {
    await pebble.dns('/set-txt', { host: `_shoal.${name}.`, value: 'of-another-service' })
    await page.getByRole('button', { name: `Check now: ${name}` }).click()
    const card = cardOf(name)
    await card.getByText('has another value: of-another-service').waitFor()
    await setRecords(name)
    await page.getByRole('button', { name: `Check now: ${name}` }).click()
    await card.getByText('Working').waitFor()
    await card.getByText(/Valid until \d\d\.\d\d\.\d{4}\. Renewed automatically/).waitFor()
    expect(await card.getByText('Found', { exact: true }).count()).toBe(2)
    const root = await pebble.root()
    expect(await graphqlStatus(pebble.tlsPort, root)).toBe(200)
  })

  test('the page shows why the authority refused an order', async () => {
    await addDomain(blocked)
    await cardOf(blocked).getByText('Waiting for DNS').waitFor()
    await setRecords(blocked)
    await page.getByRole('button', { name: `Check now: ${blocked}` }).click()
    const card = cardOf(blocked)
    await card.getByText('The certificate could not be ordered').waitFor()
    await card.getByText(/None yet\. Next order: in/).waitFor()
    expect(await accessibilityFlaws(page, 'domains-failed-and-working')).toEqual([])
  })

  test('the page of the version names the domain', async () => {
    await page.goto(`/squids/tides/v1?organization=${code}`)
    await page.getByText(`https://${name}/graphql`).waitFor()
    expect(await accessibilityFlaws(page, 'version-with-domain')).toEqual([])
    await page.getByRole('link', { name: 'Manage domains' }).click()
    await cardOf(name).getByText('Working').waitFor()
  })

  test('a viewer sees the domains and cannot change them', async () => {
    await open(viewer)
    await viewer.getByText('Working').waitFor()
    for (const button of ['Add domain', `Check now: ${name}`, `Remove ${name}`])
      expect(await viewer.getByRole('button', { name: button }).getAttribute('aria-disabled')).toBe('true')
  })

  test('a removed domain is no longer served', async () => {
    await page.getByRole('button', { name: `Remove ${name}` }).click()
    const confirmation = page.getByRole('alertdialog', { name: `Remove ${name}?` })
    await confirmation.getByRole('button', { name: 'Remove domain' }).click()
    await confirmation.waitFor({ state: 'detached' })
    await cardOf(name).waitFor({ state: 'detached' })
    const root = await pebble.root()
    await until(
      () =>
        graphqlStatus(pebble.tlsPort, root).then(
          () => false,
          () => true,
        ),
      'the handshake is refused',
    )
  })

  test('the browser reported no errors', () => expect(pageErrors).toEqual([]))
})

/** Sends a GraphQL query for the domain to the HTTPS port, and returns the HTTP status. @throws if the server has no certificate for the domain from this authority */
function graphqlStatus(port: number, ca: string): Promise<number> {
  return new Promise((done, fail) => {
    const options = { host: '127.0.0.1', port, servername: name, ca, agent: false, method: 'POST', path: '/graphql' }
    const headers = { host: name, 'content-type': 'application/json' }
    request({ ...options, headers }, (response) => {
      response.resume()
      response.once('end', () => done(response.statusCode ?? 0))
    })
      .once('error', fail)
      .end(JSON.stringify({ query: '{ __typename }' }))
  })
}

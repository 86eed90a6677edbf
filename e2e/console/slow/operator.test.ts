import type { Browser, Page } from 'playwright-core'
import type { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectToBrowser } from '../../support/console-shoal.ts'
import { accessibilityFlaws } from '../../support/browser.ts'
import { clickButton, waitForExactText, waitForText } from '../../support/page.ts'
import { password, signInAs } from '../../support/people.ts'
import { connectTo } from '../../support/postgres.ts'
import { startShoal, type Shoal } from '../../support/shoal.ts'

const operatorEmail = 'olga@operators.dev'
const memberEmail = 'max@members.dev'
const noisy = { name: 'noisy-one', slot: 'v1' }
let shoal: Shoal
let browser: Browser
let database: Client
/** A page of the operator. */
let page: Page
/** A page of a member of the organizations. */
let memberPage: Page
let member: Awaited<ReturnType<typeof signInAs>>

beforeAll(async () => {
  browser = await connectToBrowser()
  shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
  database = await connectTo(shoal.dataDir, 'shoal')
  member = await signInAs(browser, shoal, memberEmail)
  memberPage = member.page
  await addSquids()
  await signInAs(browser, shoal, operatorEmail)
  await shoal.cli('user', 'set-operator', operatorEmail)
  page = (await signInAs(browser, shoal, operatorEmail)).page
}, 240_000)

afterAll(async () => {
  await database?.end()
  await browser?.close()
  await shoal?.end()
})

/** Adds 500 hibernated versions with different usage to ten organizations. One version has written far more log lines than the others. */
async function addSquids() {
  for (let i = 0; i < 10; i++)
    await member.api.orgs.create({
      body: { code: `team-${i}`, name: `Team ${i} of a company with a long name`, email: memberEmail },
    })
  await database.query(
    `insert into squids (org_id, name, slot, desired_state, created_at, deployed_at)
     select o.id, case when n = 321 then $1 else 'squid-' || lpad(n::text, 3, '0') end, 'v1', 'hibernated', now(), now()
     from generate_series(1, 500) n join orgs o on o.code = 'team-' || n % 10`,
    [noisy.name],
  )
  await database.query(
    `insert into container_samples (squid_id, at, container, observed_seconds, cpu_seconds, memory_byte_seconds, disk_used_bytes, oom_kills, crashes)
     select id, now(), 'processor', 15, (id % 97) / 10.0, (id % 83) * 1e8, (id % 71) * 1e8, 0, 0 from squids`,
  )
  await database.query(
    `insert into log_blocks (squid_id, first_seq, last_seq, min_at, max_at, level_mask, containers, bloom)
     select id, 1, case when name = $1 then 5000000 else id % 900 + 1 end, now(), now(), 1, '{processor}', '' from squids`,
    [noisy.name],
  )
}

/** Holds requests for the session. Returns a function that sends them. */
async function holdSession(): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>()
  await page.route('**/api/v1/user', async (route) => {
    await held.promise
    await route.continue()
  })
  return async () => {
    held.resolve()
    await page.unrouteAll({ behavior: 'wait' })
  }
}

const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
const openMenu = async (name: string) => row(name).getByRole('button').last().click()

test('for a user who is not an operator, /admin behaves like a path that does not exist', async () => {
  for (const path of ['/admin', '/admin/squids', '/no-such-page']) {
    await memberPage.goto(path)
    await memberPage.waitForURL(/\/squids$/)
  }
  await clickButton(memberPage, /Account of/)
  await memberPage.getByRole('menuitem', { name: 'API tokens' }).waitFor()
  expect(await memberPage.getByText("Operator's console").count()).toBe(0)
})

test("the operator's console opens from the account menu, and one click then shows the noisiest squid of 500", async () => {
  await page.goto('/squids')
  await clickButton(page, /Account of/)
  await page.getByRole('menuitem', { name: "Operator's console" }).click()
  await page.waitForURL(/\/admin/)
  await page.getByRole('list', { name: 'Busiest squids' }).getByRole('link', { name: 'Log lines' }).click()
  await waitForText(page, '500 squids')
  await page.locator('tbody tr').first().getByText(noisy.name).waitFor()
  expect(await accessibilityFlaws(page, 'operator-squids')).toEqual([])
})

test("each page of the operator's console has its own title", async () => {
  const tabs = page.getByRole('navigation', { name: "Operator's console" })
  for (const tab of ['Overview', 'Deployments', 'Organizations', 'Squids', 'Users']) {
    await tabs.getByRole('link', { name: tab }).click()
    await expect.poll(() => page.title()).toBe(`${tab} · Operator's console · Shoal`)
  }
})

test('an operator suspends an organization with a reason that its members see, and ends the suspension', async () => {
  await page.goto('/admin/organizations?search=team-1')
  await waitForText(page, 'Team 1 of a company')
  await database.query('update sessions set password_at = null')
  await openMenu('team-1')
  await page.getByRole('menuitem', { name: 'Suspend' }).click()
  await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill('wrong')
  await clickButton(page, 'Continue')
  await waitForText(page, 'The password is wrong')
  await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(password)
  await clickButton(page, 'Continue')
  await page.getByLabel('Reason').fill('It mines coins. Write to us to discuss it.')
  expect(await accessibilityFlaws(page, 'operator-suspend')).toEqual([])
  const release = await holdSession()
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  await row('team-1').getByText('Suspended').waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await release()
  await memberPage.goto('/squids?organization=team-1')
  await waitForText(memberPage, 'The operator has suspended this organization')
  await waitForText(memberPage, 'It mines coins. Write to us to discuss it.')
  expect(await accessibilityFlaws(memberPage, 'suspended')).toEqual([])
  await expect(member.api.deployments.createUpload({ params: { code: 'team-1' } })).rejects.toThrow('It mines coins.')
  // The operator entered the password recently, so the console does not require it again.
  await page.setViewportSize({ width: 1280, height: 900 })
  await openMenu('team-1')
  await page.getByRole('menuitem', { name: 'End suspension' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'End suspension' }).click()
  await row('team-1').getByText('Billing not set').waitFor()
})

test('the overview shows the processes and problems; a stuck deployment is listed with its organization', async () => {
  await page.goto('/admin')
  await page.getByRole('table', { name: 'Processes' }).getByText('Ready').waitFor()
  // This installation has no backup.
  await waitForText(page, 'No backup exists')
  await page.getByRole('table', { name: 'Loops' }).getByText('heartbeat', { exact: true }).waitFor()
  expect(await accessibilityFlaws(page, 'operator-overview')).toEqual([])
  await page.getByRole('navigation', { name: "Operator's console" }).getByRole('link', { name: 'Deployments' }).click()
  await waitForExactText(page, 'No deployments are running')
  // The test holds the lock of the version, so that the worker cannot continue the deployment.
  await database.query('select pg_advisory_lock(5404101, 0)')
  await database.query(
    `insert into deployments (org_id, squid_id, squid_name, squid_slot, type, status, request_key, worker, created_at, updated_at)
     select id, 0, 'left-behind', 'v1', 'DEPLOY', 'SQUID_SYNCING', 'left-behind', 'other-host/1', now(), now() from orgs where code = 'team-3'`,
  )
  await page.reload()
  await row('left-behind@v1').getByText('Its worker, other-host/1, is no longer active').waitFor()
  expect(await accessibilityFlaws(page, 'operator-deployments')).toEqual([])
  await page.getByRole('link', { name: 'Team 3 of a company' }).click()
  await page.waitForURL(/organizations\?search=team-3/)
  await database.query(`delete from deployments where request_key = 'left-behind'`)
  await database.query('select pg_advisory_unlock(5404101, 0)')
})

test('the list of organizations is accessible, sorts on the server and says when nothing matches', async () => {
  await page.goto('/admin/organizations')
  await row('team-2').waitFor()
  expect(await accessibilityFlaws(page, 'operator-organizations')).toEqual([])
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.getByRole('button', { name: 'CPU' }).click()
  await page.waitForURL(/sort=cpu/)
  await page.getByLabel('Find organization').fill('nothing like this')
  await waitForExactText(page, 'No organizations match')
  expect(await accessibilityFlaws(page, 'operator-nothing')).toEqual([])
})

test('an operator with support access to an organization sees no secrets and changes nothing, until the operator ends the access', async () => {
  await member.api.secrets.change({
    params: { code: 'team-4' },
    body: { secrets: [{ action: 'UPDATE', name: 'HIDDEN_NAME', value: 'hidden value' }] },
  })
  await page.goto('/admin/organizations?search=team-4')
  await openMenu('team-4')
  await page.getByRole('menuitem', { name: 'Read as support' }).click()
  await page.waitForURL(/\/squids/)
  await waitForText(page, 'You are reading Team 4 of a company with a long name as support until')
  await waitForText(page, 'squid-004')
  expect(await accessibilityFlaws(page, 'operator-support')).toEqual([])
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.goto('/secrets')
  await waitForText(page, 'You are reading Team 4')
  await page
    .getByRole('main')
    .getByText(/could not be loaded|permission/)
    .first()
    .waitFor()
  expect(await page.getByText('HIDDEN_NAME').count()).toBe(0)
  await page.goto('/squids')
  await clickButton(page, 'Close')
  await page.waitForURL(/admin\/organizations/)
  await page.goto('/squids')
  await page.getByRole('heading', { name: 'Squids', exact: true }).waitFor()
  expect(await page.getByText('as support').count()).toBe(0)
  const { rows } = await database.query<{ action: string }>(
    `select action from audit_log where action like 'operators.%Support' and org_id = (select id from orgs where code = 'team-4') order by id`,
  )
  expect(rows.map(({ action }) => action)).toEqual(['operators.openSupport', 'operators.closeSupport'])
})

test('an operator announces maintenance, and users see the maintenance screen until the operator withdraws it', async () => {
  await page.goto('/admin')
  await clickButton(page, 'Announce maintenance')
  await page.getByRole('dialog').getByLabel('Message').fill('We replace a disk.')
  await page.getByRole('dialog').getByLabel('Start', { exact: true }).fill('2026-01-01T00:00')
  await page.getByRole('dialog').getByLabel('End', { exact: true }).fill('2099-01-01T00:00')
  await page.getByRole('dialog').getByText('Maintenance from 01.01.2026').waitFor()
  await page.getByRole('dialog').getByText('Show the maintenance screen').click()
  expect(await accessibilityFlaws(page, 'operator-maintenance')).toEqual([])
  const release = await holdSession()
  await page.getByRole('dialog').getByRole('button', { name: 'Announce', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await waitForText(page, 'users who are not operators see the maintenance screen')
  await release()
  await memberPage.goto('/squids')
  await waitForText(memberPage, "We'll be back")
  await clickButton(page, 'Withdraw')
  const releaseAfterWithdrawal = await holdSession()
  const confirmation = page.getByRole('alertdialog', { name: 'Withdraw the announcement?' })
  await confirmation.getByRole('button', { name: 'Withdraw' }).click()
  await confirmation.waitFor({ state: 'detached' })
  await waitForText(page, 'No maintenance is announced')
  await releaseAfterWithdrawal()
  await memberPage.goto('/squids')
  await memberPage.getByRole('heading', { name: 'Squids', exact: true }).waitFor()
})

test('an operator sees where a user is signed in, and ends one session and then all', async () => {
  const email = 'sia@sessions.dev'
  await shoal.cli('user', 'add', '--email', email, '--name', 'Sia', '--password-stdin', { input: password })
  const signIn = async (userAgent: string) => {
    const response = await fetch(`${shoal.url}/api/v1/auth/signin`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': userAgent },
      body: JSON.stringify({ email, password }),
    })
    return ((await response.json()) as { payload: { token: string } }).payload.token
  }
  const phone = await signIn('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/604.1')
  const laptop = await signIn('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')
  await page.goto(`/admin/users?search=${email}`)
  await database.query('update sessions set password_at = null')
  await openMenu(email)
  await page.getByRole('menuitem', { name: 'Sessions' }).click()
  const dialog = page.getByRole('dialog', { name: `Sessions of ${email}` })
  await dialog.getByRole('row').nth(2).waitFor()
  expect(await accessibilityFlaws(page, 'operator-sessions')).toEqual([])
  await page.setViewportSize({ width: 1280, height: 900 })
  await dialog
    .getByRole('row', { name: /Safari 18 on iOS.*127\.0\.0\.1/ })
    .getByRole('button')
    .click()
  await page.getByRole('menuitem', { name: 'End session' }).click()
  await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(password)
  await clickButton(page, 'Continue')
  const confirmation = page.getByRole('alertdialog')
  await confirmation.getByText('Safari 18 on iOS, 127.0.0.1 is signed out').waitFor()
  await confirmation.getByRole('button', { name: 'End session' }).click()
  await dialog.getByText('Safari 18 on iOS').waitFor({ state: 'detached' })
  await expect(shoal.as(phone).user.get({})).rejects.toMatchObject({ status: 401 })
  await shoal.as(laptop).user.get({})
  await dialog.getByRole('button', { name: 'End all sessions' }).click()
  await confirmation.getByRole('button', { name: 'End all sessions' }).click()
  await dialog.getByText('No sessions', { exact: true }).waitFor()
  await expect(shoal.as(laptop).user.get({})).rejects.toMatchObject({ status: 401 })
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
  await row(email).getByText('0', { exact: true }).waitFor()
})

test('an operator disables an account, which then cannot sign in', async () => {
  await shoal.cli('user', 'add', '--email', 'dora@disabled.dev', '--name', 'Dora', '--password-stdin', {
    input: password,
  })
  await page.goto('/admin/users')
  await row('dora@disabled.dev').waitFor()
  expect(await accessibilityFlaws(page, 'operator-users')).toEqual([])
  await page.setViewportSize({ width: 1280, height: 900 })
  await openMenu('dora@disabled.dev')
  await page.getByRole('menuitem', { name: 'Disable' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
  await row('dora@disabled.dev').getByText('Disabled', { exact: true }).waitFor()
  const signIn = shoal.as('').auth.signIn({ body: { email: 'dora@disabled.dev', password } })
  await expect(signIn).rejects.toThrow('disabled this account')
})

test('a user who is no longer an operator cannot open another page of the operator’s console', async () => {
  await shoal.cli('user', 'set-operator', operatorEmail, '--off')
  await page.goto('/admin/users')
  await expect.poll(() => new URL(page.url()).pathname).toBe('/squids')
})

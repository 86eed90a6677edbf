import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageErrors, accessibilityFlaws, newUser, axeFlaws } from '../../support/browser.ts'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { clickExactButton as clickButton, waitForExactText } from '../../support/page.ts'
import { newestLink, signInAs, signInInBrowser } from '../../support/people.ts'

const shoal = consoleShoal()
let browser: Browser

beforeAll(async () => {
  browser = await connectToBrowser()
})

afterAll(async () => {
  await browser?.close()
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
/** Matches the start of the text, because the text of a disabled item also contains the reason. */
const menuItem = (page: Page, name: string) => page.getByRole('menuitem', { name: new RegExp(`^${name}`) })
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })

async function openRowMenu(page: Page, text: string) {
  await rowOf(page, text)
    .getByRole('button', { name: `Actions for ${text}` })
    .click()
  await page.getByRole('menu').waitFor()
}

test('a user creates an organization and invites a member', async () => {
  const { context, page } = await signInAs(browser, shoal, 'founder@labs.dev')
  await page.goto('/squids')
  await page.getByRole('link', { name: 'Create new organization' }).click()
  await heading(page, 'Set up your organization')
  await page.getByLabel('Name', { exact: true }).fill('Acme Labs')
  await expect.poll(() => page.getByLabel('Code').inputValue()).toBe('acme-labs')
  await clickButton(page, 'Create organization')
  await heading(page, 'Invite users')
  expect(new URL(page.url()).pathname).toBe('/organizations/create/acme-labs')
  await page.getByRole('textbox', { name: 'Email' }).fill('ben@acme.dev')
  await clickButton(page, 'Invite')
  await page.getByRole('listitem').filter({ hasText: 'ben@acme.dev' }).waitFor()
  await page.getByRole('link', { name: 'Done' }).click()
  await heading(page, 'Squids')
  await context.close()
})

test('an invited user who signs in for the first time accepts the terms, answers the questions and joins', async () => {
  const boss = await signInAs(browser, shoal, 'boss@joined.dev')
  const params = { code: 'joined-org' }
  await boss.api.orgs.create({ body: { ...params, name: 'Joined org', email: 'boss@joined.dev' } })
  await boss.api.orgs.inviteMember({ params, body: { email: 'ben@joined.dev', roleType: 'viewer' } })
  await shoal.cli('user', 'add', '--email', 'ben@joined.dev', '--name', 'Ben Builder', '--password-stdin', {
    input: 'ben has a password',
  })
  const invited = await newUser(browser, shoal)
  const page = await invited.newPage()
  await signInInBrowser(page, { email: 'ben@joined.dev', password: 'ben has a password' })
  const accept = page.getByRole('button', { name: 'Accept' })
  await accept.waitFor()
  await expect.poll(() => accept.getAttribute('aria-disabled')).toBe('true')
  await page.getByLabel('I accept the terms of service').check()
  await accept.click()
  await heading(page, 'Welcome')
  await page.getByLabel('Analyst').check()
  await page.getByLabel('Google').check()
  await page.getByLabel('DeFi').check()
  await clickButton(page, 'Next')
  await heading(page, 'Your invitations')
  await waitForExactText(page, 'Invited by boss joined (boss@joined.dev)')
  await clickButton(page, 'Continue')
  await waitForExactText(page, 'Invitation accepted!')
  await waitForExactText(page, "You're now a part of the organization.")
  await page.getByRole('button', { name: /Joined org/ }).waitFor()
  await Promise.all([boss.context.close(), invited.close()])
})

test('a new user without invitations is not asked about an invitation that arrives after the answers', async () => {
  const guest = await signInAs(browser, shoal, 'late@answers.dev', { isNew: true, areInvitesChecked: false })
  const { page } = guest
  await guest.api.user.completeOnboarding({ body: { policyAccepted: true } })
  await Promise.all([page.waitForResponse(/\/user\/invites$/), page.goto('/squids')])
  await heading(page, 'Welcome')
  for (const answer of ['Analyst', 'Google', 'DeFi']) await page.getByLabel(answer).check()
  await clickButton(page, 'Next')
  await heading(page, 'Squids')
  await expect.poll(() => page.evaluate(() => localStorage.getItem('tmp_invites_checked'))).toBe('true')
  const boss = await signInAs(browser, shoal, 'boss@answers.dev')
  const params = { code: 'answers-org' }
  await boss.api.orgs.create({ body: { ...params, name: 'Answers org', email: 'boss@answers.dev' } })
  await boss.api.orgs.inviteMember({ params, body: { email: 'late@answers.dev', roleType: 'viewer' } })
  await page.reload()
  await heading(page, 'Squids')
  await Promise.all([boss.context.close(), guest.context.close()])
})

test('a user can log out before answering invitations; unselected invitations are rejected after a confirmation', async () => {
  const boss = await signInAs(browser, shoal, 'boss@multi.dev')
  for (const code of ['multi-one', 'multi-two', 'multi-three']) {
    await boss.api.orgs.create({ body: { code, name: code, email: 'boss@multi.dev' } })
    await boss.api.orgs.inviteMember({ params: { code }, body: { email: 'guest@multi.dev', roleType: 'viewer' } })
  }
  const guest = await signInAs(browser, shoal, 'guest@multi.dev', { areInvitesChecked: false })
  const { page } = guest
  await page.goto('/squids')
  await heading(page, 'Your invitations')
  await expect.poll(() => page.getByRole('button', { name: 'Logout' }).count()).toBe(1)
  await page.getByRole('checkbox', { name: 'multi-two' }).uncheck()
  await clickButton(page, 'Continue')
  const confirmation = page.getByRole('alertdialog', { name: 'Confirm your invitation choices' })
  await confirmation.getByRole('listitem').filter({ hasText: 'multi-two' }).waitFor()
  await expect.poll(() => confirmation.getByRole('listitem').count()).toBe(1)
  expect(await axeFlaws(page)).toEqual([])
  await clickButton(page, 'Confirm')
  await heading(page, 'Squids')
  const codes = (await guest.api.orgs.list({})).map(({ code }) => code)
  expect(codes).toEqual(expect.arrayContaining(['multi-one', 'multi-three']))
  expect(codes).not.toContain('multi-two')
  expect(await guest.api.user.listInvites({})).toEqual([])
  await expect.poll(() => page.evaluate(() => localStorage.getItem('tmp_invites_checked'))).toBe('true')

  // A link to an invitation that no longer exists (the last case of spec 8).
  await page.goto('/squids?organization=multi-two&acceptInviteId=999999')
  await page.getByText('Invitation not found').first().waitFor()
  await page.waitForURL(/\/squids\?organization=multi-two$/)
  await Promise.all([boss.context.close(), guest.context.close()])
})

test('an invitation link accepts the invitation', async () => {
  const boss = await signInAs(browser, shoal, 'boss@link.dev')
  await boss.api.orgs.create({ body: { code: 'link-org', name: 'Link org', email: 'boss@link.dev' } })
  await boss.api.orgs.inviteMember({
    params: { code: 'link-org' },
    body: { email: 'linked@link.dev', roleType: 'admin' },
  })
  const { context, page, api } = await signInAs(browser, shoal, 'linked@link.dev', { areInvitesChecked: false })
  await page.goto(await newestLink(shoal, 'linked@link.dev'))
  await waitForExactText(page, 'Invitation accepted!')
  await page.waitForURL(/\/squids\?organization=link-org$/)
  await page.getByRole('button', { name: /Link org/ }).waitFor()
  expect((await api.orgs.get({ params: { code: 'link-org' } })).roleType).toBe('admin')
  await Promise.all([boss.context.close(), context.close()])
})

/** Creates an organization with one member of each role. */
async function orgOfThree(code: string) {
  const [boss, dev, guest] = [`admin@${code}.dev`, `developer@${code}.dev`, `viewer@${code}.dev`]
  const administrator = await signInAs(browser, shoal, boss)
  const org = await administrator.api.orgs.create({ body: { code, name: `Org ${code}`, email: boss } })
  const join = async (email: string, roleType: 'developer' | 'viewer') => {
    const { id } = await administrator.api.orgs.inviteMember({ params: { code }, body: { email, roleType } })
    const person = await signInAs(browser, shoal, email)
    await person.api.orgs.acceptInvite({ params: { code, id: String(id) } })
    return person
  }
  const people = { admin: administrator, developer: await join(dev, 'developer'), viewer: await join(guest, 'viewer') }
  const end = () => Promise.all(Object.values(people).map(({ context }) => context.close()))
  return { org, ...people, end }
}

describe('the settings page', () => {
  let team: Awaited<ReturnType<typeof orgOfThree>>
  const settings = '/settings?organization=roles'
  beforeAll(async () => {
    team = await orgOfThree('roles')
  })
  afterAll(() => team?.end())

  test('disables the actions of administrators for other members', async () => {
    const { developer, viewer } = team
    for (const { page } of [developer, viewer]) {
      await page.goto(settings)
      await heading(page, 'Organization settings')
      await waitForExactText(page, 'Only administrators may change the organization.')
      await rowOf(page, 'admin@roles.dev').waitFor()
      await expect.poll(() => page.getByLabel('Organization name').count()).toBe(0)
      for (const name of ['Invite user', 'Delete organization']) {
        const button = page.getByRole('button', { name })
        await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
      }
      await openRowMenu(page, 'admin@roles.dev')
      for (const name of ['Developer', 'Remove user'])
        await expect.poll(() => menuItem(page, name).getAttribute('aria-disabled')).toBe('true')
      await page.keyboard.press('Escape')
    }
  })

  test('has a header and a side bar of the specified sizes', async () => {
    const { page } = team.admin
    await page.goto(settings)
    // The plan label and the sizes of spec 2.3.
    await page.getByRole('button', { name: /Org roles.*Billing not set/ }).waitFor()
    const sizes = async (width: number) => {
      await page.setViewportSize({ width, height: 900 })
      const [top, side] = await Promise.all(['header', 'aside'].map((tag) => page.locator(tag).first().boundingBox()))
      return [top?.height, side?.width ?? 0]
    }
    await expect.poll(() => sizes(1536)).toEqual([52, 320])
    await expect.poll(() => sizes(1535)).toEqual([52, 248])
    await expect.poll(() => sizes(999)).toEqual([52, 0])
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('does not let the last administrator leave', async () => {
    const { page } = team.admin
    await page.goto(settings)
    await rowOf(page, 'admin@roles.dev').getByText('You', { exact: true }).waitFor()
    await openRowMenu(page, 'admin@roles.dev')
    await expect.poll(() => menuItem(page, 'Viewer').getAttribute('aria-disabled')).toBe('true')
    await menuItem(page, 'Leave organization').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Leave organization' }).click()
    await waitForExactText(page, 'Assign another user as admin')
  })

  test('changes the role of a member', async () => {
    const { page } = team.admin
    await page.goto(settings)
    await rowOf(page, 'viewer@roles.dev').getByText('Viewer', { exact: true }).waitFor()
    await openRowMenu(page, 'viewer@roles.dev')
    await menuItem(page, 'Developer').click()
    await rowOf(page, 'viewer@roles.dev').getByText('Developer', { exact: true }).waitFor()
    const { roleType } = await team.viewer.api.orgs.get({ params: { code: 'roles' } })
    expect(roleType).toBe('developer')
  })

  test('removes a member', async () => {
    const { page } = team.admin
    await page.goto(settings)
    await openRowMenu(page, 'viewer@roles.dev')
    await menuItem(page, 'Remove user').click()
    await clickButton(page, 'Remove user')
    await expect.poll(() => rowOf(page, 'viewer@roles.dev').count()).toBe(0)
  })

  test('lets a member leave', async () => {
    const { org, developer } = team
    await developer.page.goto(settings)
    await developer.page.getByRole('button', { name: 'Leave organization' }).click()
    await developer.page.getByRole('alertdialog').getByRole('button', { name: 'Leave organization' }).click()
    await developer.page.waitForURL(/\/squids/)
    expect((await developer.api.orgs.list({})).map(({ code }) => code)).not.toContain(org.code)
  })

  test('deletes the organization after its code was entered', async () => {
    const { org, admin: boss } = team
    const { page } = boss
    await page.goto(settings)
    await page.getByRole('button', { name: 'Delete organization' }).click()
    const dialog = page.getByRole('alertdialog')
    const confirm = dialog.getByRole('button', { name: 'Delete organization' })
    await expect.poll(() => confirm.getAttribute('aria-disabled')).toBe('true')
    await dialog.getByLabel(`Type ${org.code} to confirm`).fill(org.code)
    await confirm.click()
    await page.waitForURL(/\/squids/)
    expect((await boss.api.orgs.list({})).map(({ code }) => code)).not.toContain(org.code)
  })
})

test('the link in an email confirms the address for notifications', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'owner@mail.dev')
  await api.orgs.create({ body: { code: 'mail-org', name: 'Mail org', email: 'owner@mail.dev' } })
  await page.goto('/settings?organization=mail-org')
  await page.getByLabel('Email', { exact: true }).fill('alerts@mail.dev')
  await page.locator('section').filter({ hasText: 'Notification email' }).getByRole('button', { name: 'Save' }).click()
  await waitForExactText(page, 'alerts@mail.dev is not confirmed yet')
  await clickButton(page, 'Resend verification')
  await waitForExactText(page, 'The email has been sent')
  await page.goto(await newestLink(shoal, 'alerts@mail.dev'))
  await clickButton(page, 'Confirm email')
  await waitForExactText(page, 'Email of organization is now verified. It will be used to receive notifications.')
  await expect.poll(() => new URL(page.url()).searchParams.has('emailVerified')).toBe(false)
  await expect.poll(() => page.getByText('is not confirmed yet').count()).toBe(0)
  expect((await api.orgs.get({ params: { code: 'mail-org' } })).email.email).toBe('alerts@mail.dev')
  await page.goto('/settings?emailVerified=false')
  await waitForExactText(page, 'This link is no longer valid')
  await context.close()
})

test('the form for organizations shows the validation messages of the specification', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'forms@members.dev')
  await api.orgs.create({ body: { code: 'taken-code', name: 'Taken', email: 'forms@members.dev' } })

  await page.goto('/organizations/create')
  await page.getByLabel('Notification email').fill('')
  await clickButton(page, 'Create organization')
  for (const text of ['Name is required', 'Email is required', 'Code is required']) await waitForExactText(page, text)
  await page.getByLabel('Notification email').fill('no-email')
  await page.getByLabel('Code').fill('No Code')
  for (const text of ['Email must be valid', 'Only lowercase alphanumeric symbols and hyphens are allowed'])
    await waitForExactText(page, text)
  await page.getByLabel('Name', { exact: true }).fill('ab')
  await waitForExactText(page, 'Min 3, max 100 symbols.')
  expect(await axeFlaws(page)).toEqual([])
  await page.getByLabel('Name', { exact: true }).fill('Taken')
  await page.getByLabel('Notification email').fill('forms@members.dev')
  await page.getByLabel('Code').fill('taken-code')
  await clickButton(page, 'Create organization')
  await waitForExactText(page, 'This code is already taken. Please choose another one.')
  await expect.poll(() => page.getByLabel('Code').getAttribute('aria-invalid')).toBe('true')
  await context.close()
})

test('the form for invitations shows the validation messages of the specification', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'forms@members.dev')
  await api.orgs.create({ body: { code: 'inviting-org', name: 'Inviting', email: 'forms@members.dev' } })
  await page.goto('/organizations/create/inviting-org')
  await clickButton(page, 'Invite')
  await waitForExactText(page, 'Email is required')
  await page.getByLabel('Email').fill('no-email')
  await waitForExactText(page, 'Must be valid email')
  expect(await api.orgs.listRoles({ params: { code: 'inviting-org' } })).toHaveLength(1)
  await context.close()
})

test('every screen is accessible in both themes and at every width', async () => {
  const { org, admin: boss, viewer, end } = await orgOfThree('screens')
  await boss.api.orgs.inviteMember({
    params: { code: org.code },
    body: { email: 'invited@screens.dev', roleType: 'admin' },
  })
  await boss.api.user.createApiToken({ body: { name: 'laptop', expiresAt: null } })
  const newcomer = await signInAs(browser, shoal, 'fresh@screens.dev', { areInvitesChecked: false, isNew: true })
  await newcomer.api.user.completeOnboarding({ body: { policyAccepted: true } })
  const guest = await signInAs(browser, shoal, 'guest@screens.dev', { areInvitesChecked: false })
  for (const [code, name] of [
    ['screens', ''],
    ['screens-2', 'Harbour Analytics'],
  ] as const) {
    if (name) await boss.api.orgs.create({ body: { code, name, email: 'admin@screens.dev' } })
    await boss.api.orgs.inviteMember({ params: { code }, body: { email: 'guest@screens.dev', roleType: 'viewer' } })
  }
  const screens: [shot: string, page: Page, address: string, title: string][] = [
    ['welcome', newcomer.page, '/squids', 'Welcome'],
    ['invitations', guest.page, '/squids', 'Your invitations'],
    ['org-create', boss.page, '/organizations/create', 'Set up your organization'],
    ['org-invite', boss.page, '/organizations/create/screens', 'Invite users'],
    ['org-settings', boss.page, '/settings', 'Organization settings'],
    ['org-settings-viewer', viewer.page, '/settings?organization=screens', 'Organization settings'],
    ['playground-settings', newcomer.page, '/settings', 'Playground settings'],
    ['account', boss.page, '/profile/settings', 'Account settings'],
    ['tokens', boss.page, '/profile/api-tokens', 'API tokens'],
    ['tokens-empty', viewer.page, '/profile/api-tokens', 'API tokens'],
    ['token-create', boss.page, '/profile/api-tokens/create', 'Create API token'],
    ['preview', boss.page, '/preview', 'Preview'],
  ]
  const flaws: string[] = []
  const check = async ([shot, page, address, title]: (typeof screens)[number]) => {
    if (shot === 'playground-settings') await page.evaluate(() => localStorage.setItem('tmp_invites_checked', 'true'))
    await page.goto(address)
    await heading(page, title)
    await expect.poll(() => page.locator('[aria-busy=true], [aria-label=Loading]').count()).toBe(0)
    flaws.push(...(await accessibilityFlaws(page, shot)))
  }
  // Each user has their own page, so the test checks the pages of different users in parallel.
  await Promise.all(
    [...Map.groupBy(screens, ([, page]) => page).values()].map(async (screensOfPage) => {
      for (const screen of screensOfPage) await check(screen)
    }),
  )
  expect(flaws).toEqual([])
  await Promise.all([end(), newcomer.context.close(), guest.context.close()])
})

test('no browser reported an error or a violation of the content security policy', () => {
  expect(pageErrors).toEqual([])
})

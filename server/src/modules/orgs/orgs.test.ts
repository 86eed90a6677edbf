import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { days } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { findMembership } from './index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const fieldError = (path: string, message: string) => ({
  status: 400,
  message,
  body: { invalidFields: [{ path: [path] }] },
})

describe('creating an organization', () => {
  test('creates an organization with the status DRAFT, whose admin is its creator', async () => {
    const user = await t.make.user()
    const body = { code: 'acme-1', name: 'Acme', email: user.email }
    const created = await t.as(user).orgs.create({ body })
    expect(created).toMatchObject({
      code: 'acme-1',
      name: 'Acme',
      status: 'DRAFT',
      roleType: 'admin',
      billingDetails: null,
    })
    expect(created.limits).toEqual({ squids: 100, playground: false })
    // An email that belongs to the creator's account is confirmed already.
    expect(created.email).toEqual({ email: user.email, pendingEmail: null })
    expect(await t.as(user).orgs.get({ params: { code: 'ACME-1' } })).toEqual(created)
  })

  test('rejects a taken or reserved code with an error on the code field', async () => {
    const user = await t.make.user()
    const { code } = await t.make.org()
    for (const taken of [code, 'verify-email', 'rpc'])
      await expect(
        t.as(user).orgs.create({ body: { code: taken, name: 'Acme', email: user.email } }),
      ).rejects.toMatchObject(fieldError('code', 'This code is already taken. Please choose another one.'))
  })

  test.each([
    ['code', '', 'Code is required'],
    ['code', '-a-', 'Only lowercase alphanumeric symbols and hyphens are allowed'],
    ['code', 'ab', 'Min 3, max 64 symbols.'],
    ['name', '', 'Name is required'],
    ['name', 'ab', 'Min 3, max 100 symbols.'],
    ['email', '', 'Email is required'],
    ['email', 'none', 'Email must be valid'],
  ])('rejects the %s "%s": %s', async (field, value, message) => {
    const user = await t.make.user()
    const body = { code: 'fine', name: 'Fine', email: 'fine@example.com', [field]: value }
    await expect(t.as(user).orgs.create({ body })).rejects.toMatchObject({ status: 400, message })
  })
})

describe('the notification email', () => {
  const linkIn = (text = '') => new URL(/https?:\S+verify-email\S+/.exec(text)?.[0] ?? 'http://none')
  const confirm = (link: URL) =>
    t.as(null).orgs.verifyEmail({ body: { code: link.searchParams.get('code') ?? 'none' } })
  const invalidLink = { status: 400, body: { code: 'LINK_INVALID' } }
  const mailsTo = async (email: string) => (await t.mails()).filter((mail) => mail.to === email)

  test('stays pending until the page of the emailed link confirms it; a request for the link alone changes nothing', async () => {
    const { admin, code, name } = await t.make.org()
    const asAdmin = t.as(admin).orgs
    const changed = await asAdmin.update({ params: { code }, body: { email: 'ops@example.com' } })
    expect(changed.email).toEqual({ email: admin.email, pendingEmail: 'ops@example.com' })
    const [mail] = await mailsTo('ops@example.com')
    expect(mail?.subject).toBe(`Confirm the email of ${name}`)
    const link = linkIn(mail?.text)
    expect(link.origin + link.pathname).toBe('http://localhost:4000/verify-email')
    // Emails of earlier releases link to this path.
    const opened = await t.http.inject(`/api/v1/orgs/verify-email${link.search}`)
    expect([opened.statusCode, opened.headers.location]).toEqual([302, link.href])
    await t.http.inject(link.pathname + link.search)
    expect((await asAdmin.get({ params: { code } })).email).toMatchObject({ pendingEmail: 'ops@example.com' })
    expect(await confirm(link)).toEqual({ code, name, email: 'ops@example.com' })
    expect((await asAdmin.get({ params: { code } })).email).toEqual({ email: 'ops@example.com', pendingEmail: null })
    await expect(confirm(link)).rejects.toMatchObject(invalidLink)
  })

  test("of a new organization is pending too, unless it is the creator's email", async () => {
    const user = await t.make.user()
    const created = await t
      .as(user)
      .orgs.create({ body: { code: 'pending', name: 'Pending', email: 'pending@example.com' } })
    expect(created.email).toEqual({ email: null, pendingEmail: 'pending@example.com' })
    expect(await mailsTo('pending@example.com')).toHaveLength(1)
  })

  test('a newer link replaces the older one, and expires after three days', async () => {
    const { admin, code } = await t.make.org()
    const asAdmin = t.as(admin).orgs
    await asAdmin.update({ params: { code }, body: { email: 'again@example.com' } })
    expect(await asAdmin.sendVerifyEmail({ params: { code } })).toEqual({ success: true })
    const [newer, older] = (await mailsTo('again@example.com')).map((mail) => linkIn(mail.text))
    await expect(confirm(older ?? linkIn())).rejects.toMatchObject(invalidLink)
    t.clock.advance(days(3))
    await expect(confirm(newer ?? linkIn())).rejects.toMatchObject(invalidLink)
    await asAdmin.sendVerifyEmail({ params: { code }, body: { email: 'again@example.com' } })
    await expect(confirm(linkIn((await mailsTo('again@example.com'))[0]?.text))).resolves.toMatchObject({ code })
    await expect(asAdmin.sendVerifyEmail({ params: { code } })).rejects.toMatchObject({ status: 405 })
  })

  test('a name that was saved before names were validated is on one line and without links in emails', async () => {
    const { id, admin, code } = await t.make.org()
    const name = 'Evil\r\nBcc: x@example.com https://evil.example now'
    await t.app.database.pool.query('update orgs set name = $1 where id = $2', [name, id])
    expect(await t.as(admin).orgs.get({ params: { code } })).toMatchObject({ name })
    await t.as(admin).orgs.inviteMember({ params: { code }, body: { email: 'invited@example.com' } })
    const [mail] = await mailsTo('invited@example.com')
    expect(mail?.subject).toBe('Invitation to Evil Bcc: x@example.\u200Bcom https evil.\u200Bexample now')
    expect(mail?.text).toContain('"Evil Bcc: x@example.\u200Bcom https evil.\u200Bexample now"')
    expect(mail?.text).not.toContain('https://evil')
    expect(mail?.html).not.toContain('https://evil')
  })

  test('contains names from users as escaped HTML', async () => {
    const { admin, code } = await t.make.org({ name: '<img src=x onerror=alert(1)>' })
    await t.as(admin).orgs.update({ params: { code }, body: { email: 'html@example.com' } })
    const [mail] = await mailsTo('html@example.com')
    expect(mail?.html).not.toContain('<img')
    expect(mail?.html).toContain('&#60;img src=x onerror=alert(1)&#62;')
  })
})

test('a user can send confirmations to a limited number of addresses; other changes remain possible', async () => {
  const { admin, code } = await t.make.org()
  const { update } = t.as(admin).orgs
  const mailsBefore = (await t.mails()).length
  const change = (email: string) => update({ params: { code }, body: { email } })
  for (let i = 0; i < 30; i++) await change(`stranger${i}@example.net`)
  await expect(change('one-more@example.net')).rejects.toMatchObject({ status: 429 })
  expect((await t.mails()).length - mailsBefore).toBe(30)
  expect(await update({ params: { code }, body: { name: 'Renamed' } })).toMatchObject({ name: 'Renamed' })
})

test('an update can change only the name: an unchanged email needs no confirmation', async () => {
  const { admin, code } = await t.make.org()
  const mailsBefore = (await t.mails()).length
  const changed = await t.as(admin).orgs.update({ params: { code }, body: { name: 'New name', email: admin.email } })
  expect(changed).toMatchObject({ name: 'New name', email: { email: admin.email, pendingEmail: null } })
  expect(await t.mails()).toHaveLength(mailsBefore)
})

test('a deleted organization is invisible immediately, but its code stays taken while its squids are being removed', async () => {
  const { admin, code, id } = await t.make.org()
  const invited = await t.make.user()
  await t.as(admin).orgs.inviteMember({ params: { code }, body: { email: invited.email } })
  expect(await t.as(admin).orgs.delete({ params: { code } })).toEqual({ code })
  await expect(t.as(admin).orgs.get({ params: { code } })).rejects.toMatchObject({
    status: 404,
    message: 'Organization not found',
  })
  expect((await t.as(admin).orgs.list()).map((org) => org.code)).toEqual([admin.playground.code])
  expect(await t.as(invited).user.listInvites()).toEqual([])
  expect(await findMembership(t.app.db, code, admin.id)).toBeNull()
  const { rows } = await t.app.database.pool.query<{ at: Date }>('select deleted_at as at from orgs where id = $1', [
    id,
  ])
  expect(rows[0]?.at).toEqual(t.clock.now())
  await expect(t.as(admin).orgs.create({ body: { code, name: 'Again', email: admin.email } })).rejects.toMatchObject(
    fieldError(
      'code',
      'An organization with this code is being deleted. Its administrators can use the code again once its squids are removed and its last invoice is settled.',
    ),
  )
})

describe('the playground', () => {
  test('cannot be renamed, deleted, shared or left', async () => {
    const user = await t.make.user()
    const { code } = user.playground
    const { orgs } = t.as(user)
    const [own] = await orgs.listRoles({ params: { code } })
    const denied = { status: 405, message: 'The playground is personal. Create an organization to do this.' }
    for (const attempt of [
      () => orgs.update({ params: { code }, body: { name: 'Mine' } }),
      () => orgs.delete({ params: { code } }),
      () => orgs.inviteMember({ params: { code }, body: { email: 'a@example.com' } }),
      () => orgs.removeMember({ params: { code, id: String(own?.id) } }),
    ])
      await expect(attempt()).rejects.toMatchObject(denied)
  })

  test('has a monthly quota of RPC requests', async () => {
    const user = await t.make.user()
    const { code } = user.playground
    const quotas = () => t.as(user).orgs.getQuotas({ params: { code } })
    expect(await quotas()).toEqual([{ id: 'rpc', usage: '0', capacity: '500000' }])
    await t.app.database.pool.query(
      `insert into quota_usage (org_id, quota, month, used)
       select id, 'rpc', $2, 1234 from orgs where code = $1`,
      [code, `${t.clock.now().toISOString().slice(0, 7)}-01`],
    )
    expect(await quotas()).toEqual([{ id: 'rpc', usage: '1234', capacity: '500000' }])
    t.clock.advance(days(31))
    expect(await t.as(await t.make.token(user)).orgs.getQuotas({ params: { code } })).toMatchObject([{ usage: '0' }])
  })

  test('other organizations have no quotas', async () => {
    const { admin, code } = await t.make.org()
    expect(await t.as(admin).orgs.getQuotas({ params: { code } })).toEqual([])
  })
})

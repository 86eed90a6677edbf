import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { days } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { findMembership } from './index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const onField = (path: string, message: string) => ({
  status: 400,
  message,
  body: { invalidFields: [{ path: [path] }] },
})

describe('creating', () => {
  test('creates a draft with the creator as its admin', async () => {
    const user = await t.make.user()
    const body = { code: 'acme-1', name: 'Acme', email: user.email }
    const made = await t.as(user).orgs.create({ body })
    expect(made).toMatchObject({
      code: 'acme-1',
      name: 'Acme',
      status: 'DRAFT',
      roleType: 'admin',
      billingDetails: null,
    })
    expect(made.limits).toEqual({ squids: 100, playground: false })
    // The creator's own email is already confirmed.
    expect(made.email).toEqual({ email: user.email, pendingEmail: null })
    expect(await t.as(user).orgs.get({ params: { code: 'ACME-1' } })).toEqual(made)
  })

  test('refuses a code that is taken or reserved, on the code field', async () => {
    const user = await t.make.user()
    const { code } = await t.make.org()
    for (const taken of [code, 'verify-email', 'rpc'])
      await expect(
        t.as(user).orgs.create({ body: { code: taken, name: 'Acme', email: user.email } }),
      ).rejects.toMatchObject(onField('code', 'This code is already taken. Please choose another one.'))
  })

  test.each([
    ['code', '', 'Code is required'],
    ['code', '-a-', 'Only lowercase alphanumeric symbols and hyphens are allowed'],
    ['code', 'ab', 'Min 3, max 64 symbols.'],
    ['name', '', 'Name is required'],
    ['name', 'ab', 'Min 3, max 100 symbols.'],
    ['email', '', 'Email is required'],
    ['email', 'none', 'Email must be valid'],
  ])('%s "%s" is refused: %s', async (field, value, message) => {
    const user = await t.make.user()
    const body = { code: 'fine', name: 'Fine', email: 'fine@example.com', [field]: value }
    await expect(t.as(user).orgs.create({ body })).rejects.toMatchObject({ status: 400, message })
  })
})

describe('the notification email', () => {
  const linkIn = (text = '') => new URL(/https?:\S+verify-email\S+/.exec(text)?.[0] ?? 'http://none')
  const open = async (link: URL) => (await t.http.inject(link.pathname + link.search)).headers.location
  const mailsTo = async (email: string) => (await t.mails()).filter((mail) => mail.to === email)

  test('stays pending until the mailed link is opened', async () => {
    const { admin, code, name } = await t.make.org()
    const asAdmin = t.as(admin).orgs
    const changed = await asAdmin.update({ params: { code }, body: { email: 'ops@example.com' } })
    expect(changed.email).toEqual({ email: admin.email, pendingEmail: 'ops@example.com' })
    const [mail] = await mailsTo('ops@example.com')
    expect(mail?.subject).toBe(`Confirm the email of ${name}`)
    const link = linkIn(mail?.text)
    expect(await open(link)).toBe(`http://localhost:4000/settings?emailVerified=true&organization=${code}`)
    expect((await asAdmin.get({ params: { code } })).email).toEqual({ email: 'ops@example.com', pendingEmail: null })
    expect(await open(link)).toBe('http://localhost:4000/settings?emailVerified=false')
  })

  test('of a new organization needs confirmation too, unless it is that of the creator', async () => {
    const user = await t.make.user()
    const created = await t
      .as(user)
      .orgs.create({ body: { code: 'pending', name: 'Pending', email: 'pending@example.com' } })
    expect(created.email).toEqual({ email: null, pendingEmail: 'pending@example.com' })
    expect(await mailsTo('pending@example.com')).toHaveLength(1)
  })

  test('a newer link replaces the older one, and both expire after three days', async () => {
    const { admin, code } = await t.make.org()
    const asAdmin = t.as(admin).orgs
    await asAdmin.update({ params: { code }, body: { email: 'again@example.com' } })
    expect(await asAdmin.sendVerifyEmail({ params: { code } })).toEqual({ success: true })
    const [newer, older] = (await mailsTo('again@example.com')).map((mail) => linkIn(mail.text))
    expect(await open(older ?? linkIn())).toMatch(/emailVerified=false/)
    t.clock.advance(days(3))
    expect(await open(newer ?? linkIn())).toMatch(/emailVerified=false/)
    await asAdmin.sendVerifyEmail({ params: { code }, body: { email: 'again@example.com' } })
    expect(await open(linkIn((await mailsTo('again@example.com'))[0]?.text))).toMatch(/emailVerified=true/)
    await expect(asAdmin.sendVerifyEmail({ params: { code } })).rejects.toMatchObject({ status: 405 })
  })

  test('escapes text chosen by users', async () => {
    const { admin, code } = await t.make.org({ name: '<img src=x onerror=alert(1)>' })
    await t.as(admin).orgs.update({ params: { code }, body: { email: 'html@example.com' } })
    const [mail] = await mailsTo('html@example.com')
    expect(mail?.html).not.toContain('<img')
    expect(mail?.html).toContain('&#60;img src=x onerror=alert(1)&#62;')
  })
})

test('the name changes; an unchanged email needs no confirmation', async () => {
  const { admin, code } = await t.make.org()
  const mailsBefore = (await t.mails()).length
  const changed = await t.as(admin).orgs.update({ params: { code }, body: { name: 'New name', email: admin.email } })
  expect(changed).toMatchObject({ name: 'New name', email: { email: admin.email, pendingEmail: null } })
  expect(await t.mails()).toHaveLength(mailsBefore)
})

test('a deleted organization is invisible immediately, and its code stays taken until its squids are removed', async () => {
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
    onField(
      'code',
      'An organization with this code is being deleted. The code becomes available once its squids are removed and its last invoice is settled.',
    ),
  )
})

describe('the playground', () => {
  test('cannot be renamed, deleted, shared or left', async () => {
    const user = await t.make.user()
    const { code } = user.playground
    const { orgs } = t.as(user)
    const [own] = await orgs.listRoles({ params: { code } })
    const refused = { status: 405, message: 'The playground is personal. Create an organization to do this.' }
    for (const attempt of [
      () => orgs.update({ params: { code }, body: { name: 'Mine' } }),
      () => orgs.delete({ params: { code } }),
      () => orgs.inviteMember({ params: { code }, body: { email: 'a@example.com' } }),
      () => orgs.removeMember({ params: { code, id: String(own?.id) } }),
    ])
      await expect(attempt()).rejects.toMatchObject(refused)
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

  test('other organizations have none', async () => {
    const { admin, code } = await t.make.org()
    expect(await t.as(admin).orgs.getQuotas({ params: { code } })).toEqual([])
  })
})

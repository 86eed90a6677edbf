import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const notAllowed = { status: 405, message: 'Only administrators may manage members.' }
const roleOf = (of: { code: string }, roleId: number) => ({ code: of.code, id: String(roleId) })

describe('members', () => {
  test('are listed before invitations, with names', async () => {
    const org = await t.make.org({ admin: await t.make.user({ email: 'b@example.com', fullName: 'Bea' }) })
    await t.make.member(org, 'viewer', await t.make.user({ email: 'a@example.com', fullName: 'Al' }))
    await t.as(org.admin).orgs.inviteMember({ params: org, body: { email: 'A0@example.com' } })
    const roles = await t.as(org.admin).orgs.listRoles({ params: org })
    const id = expect.any(Number) as number
    expect(roles).toEqual([
      { id, type: 'viewer', email: 'a@example.com', fullName: 'Al', status: 'accepted' },
      { id, type: 'admin', email: 'b@example.com', fullName: 'Bea', status: 'accepted' },
      { id, type: 'viewer', email: 'a0@example.com', fullName: null, status: 'invited' },
    ])
  })

  test('an admin changes the role of others, but not their own', async () => {
    const org = await t.make.org()
    const member = await t.make.member(org, 'viewer')
    const change = (who: { token: string }, roleId: number) =>
      t.as(who).orgs.changeRole({ params: roleOf(org, roleId), body: { roleType: 'developer' } })
    expect(await change(org.admin, member.roleId)).toMatchObject({ id: member.roleId, type: 'developer' })
    expect(await t.as(member).orgs.get({ params: org })).toMatchObject({ roleType: 'developer' })
    await expect(change(org.admin, org.admin.roleId)).rejects.toMatchObject({
      status: 405,
      message: 'You cannot change your own role.',
    })
    await expect(change(member, org.admin.roleId)).rejects.toMatchObject(notAllowed)
  })

  test('an admin removes others, who lose access immediately', async () => {
    const org = await t.make.org()
    const member = await t.make.member(org, 'developer')
    const removed = await t.as(org.admin).orgs.removeMember({ params: roleOf(org, member.roleId) })
    expect(removed).toMatchObject({ email: member.email })
    await expect(t.as(member).orgs.get({ params: org })).rejects.toMatchObject({ status: 404 })
  })

  test('others can leave, but not remove members', async () => {
    const org = await t.make.org()
    const [member, other] = [await t.make.member(org, 'developer'), await t.make.member(org, 'viewer')]
    await expect(t.as(member).orgs.removeMember({ params: roleOf(org, other.roleId) })).rejects.toMatchObject(
      notAllowed,
    )
    await expect(t.as(member).orgs.removeMember({ params: roleOf(org, 999_999) })).rejects.toMatchObject(notAllowed)
    await t.as(member).orgs.removeMember({ params: roleOf(org, member.roleId) })
    await expect(t.as(member).orgs.get({ params: org })).rejects.toMatchObject({ status: 404 })
  })

  test('the last admin cannot leave; an invited admin does not count', async () => {
    const org = await t.make.org()
    await t.as(org.admin).orgs.inviteMember({ params: org, body: { email: 'next@example.com', roleType: 'admin' } })
    const leave = () => t.as(org.admin).orgs.removeMember({ params: roleOf(org, org.admin.roleId) })
    await expect(leave()).rejects.toMatchObject({ status: 405, message: 'Assign another user as admin' })
    await t.make.member(org, 'admin')
    await expect(leave()).resolves.toMatchObject({ type: 'admin' })
  })

  test('of the last two admins only one can leave, also concurrently', async () => {
    const org = await t.make.org()
    const second = await t.make.member(org, 'admin')
    const left = await Promise.allSettled([
      t.as(org.admin).orgs.removeMember({ params: roleOf(org, org.admin.roleId) }),
      t.as(second).orgs.removeMember({ params: roleOf(org, second.roleId) }),
    ])
    expect(left.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test("another organization's members cannot be changed through one's own organization", async () => {
    const mine = await t.make.org()
    const theirs = await t.make.org()
    const member = await t.make.member(theirs, 'viewer')
    const params = roleOf(mine, member.roleId)
    const missing = { status: 404, message: 'Member not found' }
    const { orgs } = t.as(mine.admin)
    await expect(orgs.changeRole({ params, body: { roleType: 'admin' } })).rejects.toMatchObject(missing)
    await expect(orgs.removeMember({ params })).rejects.toMatchObject(missing)
    await expect(orgs.removeMember({ params: { ...params, id: 'x' } })).rejects.toMatchObject(missing)
  })
})

describe('invitations', () => {
  const invite = async (email: string, roleType: 'viewer' | 'developer' | 'admin' = 'developer') => {
    const org = await t.make.org()
    const role = await t.as(org.admin).orgs.inviteMember({ params: org, body: { email, roleType } })
    return { org, role, params: roleOf(org, role.id) }
  }
  const missing = { status: 404, message: 'Invitation not found' }

  test('are mailed with a link that accepts', async () => {
    const { org, role } = await invite('guest@example.com')
    expect(role).toMatchObject({ email: 'guest@example.com', type: 'developer', status: 'invited', fullName: null })
    const [mail] = await t.mails()
    expect(mail).toMatchObject({ to: 'guest@example.com', subject: `Invitation to ${org.name}` })
    expect(mail?.text).toContain(`http://localhost:4000/squids?organization=${org.code}&acceptInviteId=${role.id}`)
    expect(mail?.text).toContain(`${org.admin.fullName} (${org.admin.email})`)
  })

  test('are seen and accepted by the user with the email, once, with the role of the invitation', async () => {
    const guest = await t.make.user()
    const { org, role, params } = await invite(guest.email)
    expect(await t.as(guest).user.listInvites()).toEqual([
      {
        id: role.id,
        organization: { code: org.code, name: org.name },
        invitedBy: { email: org.admin.email, fullName: org.admin.fullName },
      },
    ])
    expect(await t.as(guest).orgs.acceptInvite({ params })).toEqual({ code: org.code })
    expect(await t.as(guest).orgs.get({ params: org })).toMatchObject({ roleType: 'developer' })
    expect(await t.as(guest).user.listInvites()).toEqual([])
    await expect(t.as(guest).orgs.acceptInvite({ params })).rejects.toMatchObject(missing)
  })

  test('are rejected once', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email)
    expect(await t.as(guest).orgs.rejectInvite({ params })).toEqual({ code: org.code })
    await expect(t.as(guest).orgs.acceptInvite({ params })).rejects.toMatchObject(missing)
    await expect(t.as(guest).orgs.rejectInvite({ params })).rejects.toMatchObject(missing)
    expect(await t.as(org.admin).orgs.listRoles({ params: org })).toHaveLength(1)
  })

  test('are bound to the email: other users cannot accept, reject or see them', async () => {
    const { org, params } = await invite('only-me@example.com')
    const other = await t.make.user()
    await expect(t.as(other).orgs.acceptInvite({ params })).rejects.toMatchObject(missing)
    await expect(t.as(other).orgs.rejectInvite({ params })).rejects.toMatchObject(missing)
    const claims = await t.make.user({ email: 'only-me@example.com', emailVerified: false })
    await expect(t.as(claims).orgs.acceptInvite({ params })).rejects.toMatchObject({ status: 405 })
    const guest = await t.make.user({ email: 'only-me@example.com' })
    const elsewhere = { ...params, code: (await t.make.org()).code }
    await expect(t.as(guest).orgs.acceptInvite({ params: elsewhere })).rejects.toMatchObject(missing)
    await expect(t.as(guest).orgs.acceptInvite({ params })).resolves.toEqual({ code: org.code })
  })

  test('have a fixed role; inviting again creates a new one and invalidates the old link', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email, 'admin')
    await expect(t.as(org.admin).orgs.changeRole({ params, body: { roleType: 'viewer' } })).rejects.toMatchObject({
      status: 405,
      body: { code: 'INVITATION_OPEN' },
    })
    const again = await t.as(org.admin).orgs.inviteMember({ params: org, body: { email: guest.email } })
    await expect(t.as(guest).orgs.acceptInvite({ params })).rejects.toMatchObject(missing)
    await t.as(guest).orgs.acceptInvite({ params: roleOf(org, again.id) })
    expect(await t.as(guest).orgs.get({ params: org })).toMatchObject({ roleType: 'viewer' })
  })

  test('can be withdrawn', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email)
    await t.as(org.admin).orgs.removeMember({ params })
    await expect(t.as(guest).orgs.acceptInvite({ params })).rejects.toMatchObject(missing)
  })

  test('are refused for members', async () => {
    const org = await t.make.org()
    await expect(
      t.as(org.admin).orgs.inviteMember({ params: org, body: { email: org.admin.email.toUpperCase() } }),
    ).rejects.toMatchObject({ status: 400, message: 'This user is already a member of the organization.' })
  })

  test('do not reveal whether the email has an account', async () => {
    const { email } = await t.make.user()
    const org = await t.make.org()
    const responses = []
    for (const invited of [email, 'unknown@example.com']) {
      const {
        id: _,
        email: __,
        ...rest
      } = await t.as(org.admin).orgs.inviteMember({
        params: org,
        body: { email: invited },
      })
      responses.push(rest)
    }
    expect(responses[0]).toEqual(responses[1])
    expect(await t.as(org.admin).orgs.listRoles({ params: org })).toMatchObject([
      {},
      { fullName: null },
      { fullName: null },
    ])
  })

  test('accepted twice concurrently create one member', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email)
    const accept = () => t.as(guest).orgs.acceptInvite({ params })
    const results = await Promise.allSettled([accept(), accept()])
    expect(results.map((r) => r.status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await t.as(guest).orgs.listRoles({ params: org })).toHaveLength(2)
  })
})

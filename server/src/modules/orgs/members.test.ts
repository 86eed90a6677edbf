import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { days } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const notAllowed = { status: 405, message: 'Only administrators may manage members.' }
const roleParams = (org: { code: string }, roleId: number) => ({ code: org.code, id: String(roleId) })

describe('members', () => {
  test('are listed with their names, before invitations', async () => {
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
    const change = (caller: { token: string }, roleId: number) =>
      t.as(caller).orgs.changeRole({ params: roleParams(org, roleId), body: { roleType: 'developer' } })
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
    const removed = await t.as(org.admin).orgs.removeMember({ params: roleParams(org, member.roleId) })
    expect(removed).toMatchObject({ email: member.email })
    await expect(t.as(member).orgs.get({ params: org })).rejects.toMatchObject({ status: 404 })
  })

  test('members without the admin role can leave, but cannot remove others', async () => {
    const org = await t.make.org()
    const [member, other] = [await t.make.member(org, 'developer'), await t.make.member(org, 'viewer')]
    await expect(t.as(member).orgs.removeMember({ params: roleParams(org, other.roleId) })).rejects.toMatchObject(
      notAllowed,
    )
    await expect(t.as(member).orgs.removeMember({ params: roleParams(org, 999_999) })).rejects.toMatchObject(notAllowed)
    await t.as(member).orgs.removeMember({ params: roleParams(org, member.roleId) })
    await expect(t.as(member).orgs.get({ params: org })).rejects.toMatchObject({ status: 404 })
  })

  test('the last admin cannot leave; an invited admin does not count', async () => {
    const org = await t.make.org()
    await t.as(org.admin).orgs.inviteMember({ params: org, body: { email: 'next@example.com', roleType: 'admin' } })
    const leave = () => t.as(org.admin).orgs.removeMember({ params: roleParams(org, org.admin.roleId) })
    await expect(leave()).rejects.toMatchObject({ status: 405, message: 'Assign another user as admin' })
    await t.make.member(org, 'admin')
    await expect(leave()).resolves.toMatchObject({ type: 'admin' })
  })

  test('of the last two admins only one can leave, even concurrently', async () => {
    const org = await t.make.org()
    const second = await t.make.member(org, 'admin')
    const results = await Promise.allSettled([
      t.as(org.admin).orgs.removeMember({ params: roleParams(org, org.admin.roleId) }),
      t.as(second).orgs.removeMember({ params: roleParams(org, second.roleId) }),
    ])
    expect(results.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test("of another organization cannot be changed or removed through the caller's organization", async () => {
    const ownOrg = await t.make.org()
    const otherOrg = await t.make.org()
    const member = await t.make.member(otherOrg, 'viewer')
    const params = roleParams(ownOrg, member.roleId)
    const missing = { status: 404, message: 'Member not found' }
    const { orgs } = t.as(ownOrg.admin)
    await expect(orgs.changeRole({ params, body: { roleType: 'admin' } })).rejects.toMatchObject(missing)
    await expect(orgs.removeMember({ params })).rejects.toMatchObject(missing)
    await expect(orgs.removeMember({ params: { ...params, id: 'x' } })).rejects.toMatchObject(missing)
  })
})

describe('invitations', () => {
  const invite = async (email: string, roleType: 'viewer' | 'developer' | 'admin' = 'developer') => {
    const org = await t.make.org()
    const role = await t.as(org.admin).orgs.inviteMember({ params: org, body: { email, roleType } })
    return { org, role, params: roleParams(org, role.id) }
  }
  const missing = { status: 404, message: 'Invitation not found' }

  /** Returns the secret in the link of the newest email to this address. */
  const keyFor = async (email: string) => {
    const mail = (await t.mails()).find(({ to }) => to === email)
    return /inviteKey=([\w-]+)/.exec(mail?.text ?? '')?.[1] ?? ''
  }
  /** Turns the account into one whose email an earlier release confirmed, without a proof of access to the mailbox. */
  const clearEmailProof = (user: { id: number }) =>
    t.app.database.pool.query(`update users set email_proven_at = null where id = ${user.id}`)

  test('are emailed with a link to accept', async () => {
    const { org, role } = await invite('guest@example.com')
    expect(role).toMatchObject({ email: 'guest@example.com', type: 'developer', status: 'invited', fullName: null })
    const [mail] = await t.mails()
    expect(mail).toMatchObject({ to: 'guest@example.com', subject: `Invitation to ${org.name}` })
    expect(mail?.text).toContain(
      `http://localhost:4000/squids?organization=${org.code}&acceptInviteId=${role.id}&inviteKey=`,
    )
    expect(mail?.text).toContain(`${org.admin.fullName} (${org.admin.email})`)
  })

  test('are listed for the invited user, who can accept once and gets the offered role', async () => {
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

  test('are accepted only with the secret of their own link, which is stored as a hash', async () => {
    const guest = await t.make.user()
    await clearEmailProof(guest)
    const { org, params } = await invite(guest.email)
    const key = await keyFor(guest.email)
    expect(key).toMatch(/^[\w-]{43}$/)
    const { rows } = await t.app.database.pool.query(`select * from roles where org_id = ${org.id}`)
    expect(JSON.stringify(rows)).not.toContain(key)
    const elsewhere = await invite(guest.email)
    const foreignKey = await keyFor(guest.email)
    for (const wrong of ['x', `${key}x`, foreignKey])
      await expect(t.as(guest).orgs.acceptInvite({ params, body: { key: wrong } })).rejects.toMatchObject(missing)
    await expect(t.as(guest).orgs.acceptInvite({ params: elsewhere.params, body: { key } })).rejects.toMatchObject(
      missing,
    )
    const other = await t.make.user()
    await expect(t.as(other).orgs.acceptInvite({ params, body: { key } })).rejects.toMatchObject(missing)
    expect(await t.as(guest).orgs.acceptInvite({ params, body: { key } })).toEqual({ code: org.code })
  })

  test('need their link to be accepted or rejected by a user who has not proven access to the mailbox', async () => {
    const attacker = await t.make.user()
    await clearEmailProof(attacker)
    const { params } = await invite(attacker.email, 'admin')
    expect(await t.as(attacker).user.listInvites()).toEqual([])
    const linkNeeded = { status: 405, body: { code: 'INVITATION_LINK_NEEDED' } }
    await expect(t.as(attacker).orgs.acceptInvite({ params })).rejects.toMatchObject(linkNeeded)
    await expect(t.as(attacker).orgs.rejectInvite({ params })).rejects.toMatchObject(linkNeeded)
  })

  test('created before links had a secret cannot be accepted with any key', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email)
    await t.app.database.pool.query(`update roles set secret_hash = null where org_id = ${org.id}`)
    for (const key of ['null', 'x', await keyFor(guest.email)])
      await expect(t.as(guest).orgs.acceptInvite({ params, body: { key } })).rejects.toMatchObject(missing)
  })

  test('expire after 14 days, until the user is invited again', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email)
    const key = await keyFor(guest.email)
    t.clock.advance(days(14))
    const newToken = { token: await t.make.token(guest) }
    expect(await t.as(newToken).user.listInvites()).toEqual([])
    await expect(t.as(newToken).orgs.acceptInvite({ params, body: { key } })).rejects.toMatchObject(missing)
    const again = await t.as(org.admin).orgs.inviteMember({ params: org, body: { email: guest.email } })
    await t.as(newToken).orgs.acceptInvite({ params: roleParams(org, again.id) })
  })

  test('can be rejected once', async () => {
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
    const unconfirmed = await t.make.user({ email: 'only-me@example.com', emailVerified: false })
    await expect(t.as(unconfirmed).orgs.acceptInvite({ params })).rejects.toMatchObject({ status: 405 })
    const guest = await t.make.user({ email: 'only-me@example.com' })
    const elsewhere = { ...params, code: (await t.make.org()).code }
    await expect(t.as(guest).orgs.acceptInvite({ params: elsewhere })).rejects.toMatchObject(missing)
    await expect(t.as(guest).orgs.acceptInvite({ params })).resolves.toEqual({ code: org.code })
  })

  test('have a fixed role; a second invitation replaces the first one', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email, 'admin')
    await expect(t.as(org.admin).orgs.changeRole({ params, body: { roleType: 'viewer' } })).rejects.toMatchObject({
      status: 405,
      body: { code: 'INVITATION_OPEN' },
    })
    const again = await t.as(org.admin).orgs.inviteMember({ params: org, body: { email: guest.email } })
    await expect(t.as(guest).orgs.acceptInvite({ params })).rejects.toMatchObject(missing)
    await t.as(guest).orgs.acceptInvite({ params: roleParams(org, again.id) })
    expect(await t.as(guest).orgs.get({ params: org })).toMatchObject({ roleType: 'viewer' })
  })

  test('can be withdrawn', async () => {
    const guest = await t.make.user()
    const { org, params } = await invite(guest.email)
    await t.as(org.admin).orgs.removeMember({ params })
    await expect(t.as(guest).orgs.acceptInvite({ params })).rejects.toMatchObject(missing)
  })

  test('cannot be sent to members', async () => {
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
        ...response
      } = await t.as(org.admin).orgs.inviteMember({
        params: org,
        body: { email: invited },
      })
      responses.push(response)
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

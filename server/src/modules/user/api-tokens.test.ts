import { contract, endpointsOf } from '@shoal/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const create = (
  caller: { token: string },
  body: { name: string; scope?: 'read' | 'deploy' | 'admin'; organization?: string | null },
) => t.as(caller).user.createApiToken({ body })

describe('the scope of an API token', () => {
  test('is "deploy" for all organizations by default, and is shown in lists', async () => {
    const org = await t.make.org()
    const created = await create(org.admin, { name: 'default' })
    expect(created).toMatchObject({ scope: 'deploy', organization: null })
    const bound = await create(org.admin, { name: 'bound', scope: 'read', organization: org.code })
    expect(bound).toMatchObject({ scope: 'read', organization: { code: org.code, name: org.name } })
    const { token: _, ...listed } = bound
    expect((await t.as(org.admin).user.listApiTokens())[0]).toEqual(listed)
  })

  test('"deploy" allows what the public client does, but no administration', async () => {
    const org = await t.make.org()
    const { token } = await create(org.admin, { name: 'ci' })
    const params = { code: org.code }
    const ci = t.as(token)
    expect(await ci.user.get()).toMatchObject({ email: org.admin.email })
    await ci.secrets.change({ params, body: { secrets: [{ action: 'UPDATE', name: 'A', value: 'b' }] } })
    expect(await ci.deployments.createUpload({ params })).toMatchObject({ uploadUrl: expect.any(String) as string })
    for (const call of [
      () => ci.orgs.inviteMember({ params, body: { email: 'accomplice@example.com', roleType: 'admin' } }),
      () => ci.rpc.getToken({ params }),
      () => ci.orgs.update({ params, body: { email: 'accomplice@example.com' } }),
      () => ci.orgs.create({ body: { code: 'another', name: 'Another', email: 'accomplice@example.com' } }),
    ])
      await expect(call()).rejects.toMatchObject({ status: 405, body: { code: 'TOKEN_SCOPE' } })
  })

  test('"read" allows reading what a viewer sees', async () => {
    const org = await t.make.org()
    const { token } = await create(org.admin, { name: 'dashboard', scope: 'read' })
    expect(await t.as(token).orgs.get({ params: org })).toMatchObject({ roleType: 'viewer' })
    expect((await t.as(token).user.get()).organizations.map(({ roleType }) => roleType)).toEqual(['viewer', 'viewer'])
    const change = t.as(token).secrets.change({ params: org, body: { secrets: [] } })
    await expect(change).rejects.toMatchObject({ status: 405, body: { code: 'TOKEN_SCOPE' } })
  })

  test('never exceeds the role of its user', async () => {
    const org = await t.make.org()
    const viewer = await t.make.member(org, 'viewer')
    const { token } = await create(viewer, { name: 'viewer-token', scope: 'admin' })
    const invite = t.as(token).orgs.inviteMember({ params: org, body: { email: 'x@example.com' } })
    await expect(invite).rejects.toMatchObject({ status: 405, body: { code: 'NOT_ALLOWED' } })
  })
})

describe('an API token of one organization', () => {
  test('finds and lists nothing of other organizations', async () => {
    const admin = await t.make.user()
    const [allowed, other] = [await t.make.org({ admin }), await t.make.org({ admin })]
    const { token } = await create(admin, { name: 'one', scope: 'admin', organization: allowed.code })
    const client = t.as(token)
    expect((await client.orgs.list()).map(({ code }) => code)).toEqual([allowed.code])
    expect((await client.user.get()).organizations.map(({ code }) => code)).toEqual([allowed.code])
    expect(await client.squids.listMine({ query: { name: 'any' } })).toEqual([])
    await expect(client.orgs.get({ params: allowed })).resolves.toMatchObject({ code: allowed.code })
    await expect(client.orgs.get({ params: other })).rejects.toMatchObject({ status: 404 })
    await expect(client.orgs.get({ params: admin.playground })).rejects.toMatchObject({ status: 404 })
    const creation = client.orgs.create({ body: { code: 'outside', name: 'Outside', email: admin.email } })
    await expect(creation).rejects.toMatchObject({ status: 405, body: { code: 'TOKEN_SCOPE' } })
  })

  test('can be created only for an organization of its user', async () => {
    const [user, otherOrg] = [await t.make.user(), await t.make.org()]
    for (const organization of [otherOrg.code, 'none'])
      await expect(create(user, { name: 'foreign', organization })).rejects.toMatchObject({
        status: 400,
        message: 'You are not a member of this organization.',
      })
  })

  test('is deleted with the organization, instead of becoming valid for all', async () => {
    const org = await t.make.org()
    const { token } = await create(org.admin, { name: 'doomed', organization: org.code })
    await t.as(org.admin).orgs.delete({ params: org })
    await expect(t.as(token).user.get()).rejects.toMatchObject({ status: 401 })
  })
})

test('every endpoint that is not public declares its scope', () => {
  for (const [name, { access, scope }] of endpointsOf(contract))
    expect([name, scope === null]).toEqual([name, access === 'public'])
})

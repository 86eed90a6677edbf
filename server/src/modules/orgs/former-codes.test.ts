import { afterAll, beforeAll, expect, test } from 'vitest'
import { days } from '../../clock.ts'
import { startTestApp, type TestApp, type TestOrg, type TestUser } from '../../testing/index.ts'
import { removeOrg } from '../deployments/reconcile.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t?.close())

const create = (user: Pick<TestUser, 'token' | 'email'>, code: string) =>
  t.as(user).orgs.create({ body: { code, name: 'Again', email: user.email } })

const saveSlug = ({ admin, code }: Pick<TestOrg, 'admin' | 'code'>, slug: string) =>
  t.as(admin).statusPage.update({
    params: { code },
    body: { isEnabled: true, title: 'Status', slug, tags: [], alertKinds: [] },
  })

async function remove({ id, code, admin }: Pick<TestOrg, 'id' | 'code'> & { admin: TestUser }): Promise<void> {
  await t.as(admin).orgs.delete({ params: { code } })
  await t.app.database.pool.query('update orgs set settled_at = deleted_at where id = $1', [id])
  await removeOrg(t.app, id)
}

test('for 90 days after its deletion, only former administrators of an organization can use its code', async () => {
  const org = await t.make.org({ code: 'former-code' })
  const [admin, developer] = [await t.make.member(org, 'admin'), await t.make.member(org, 'developer')]
  await remove(org)
  for (const stranger of [developer, await t.make.user()])
    await expect(create(stranger, 'former-code')).rejects.toMatchObject({
      status: 400,
      message:
        'An organization with this code was deleted. Until 2026-04-15, only its former administrators can use the code. Please choose another one.',
    })
  await create(admin, 'former-code')
  const { rows } = await t.app.database.pool.query<{ id: number }>(`select id from orgs where code = 'former-code'`)
  await remove({ id: Number(rows[0]?.id), code: 'former-code', admin })
  // The administrators of the first organization are not those of the second.
  await expect(create(org.admin, 'former-code')).rejects.toMatchObject({ status: 400 })
  t.clock.advance(days(90))
  expect(await create(await t.make.user(), 'former-code')).toMatchObject({ code: 'former-code' })
})

test('for 90 days after the deletion of an organization, no other status page can have its address or its code', async () => {
  const org = await t.make.org({ code: 'former-page' })
  await saveSlug(org, 'former-slug')
  await remove(org)
  const other = await t.make.org()
  for (const slug of ['former-slug', 'former-page'])
    await expect(saveSlug(other, slug)).rejects.toMatchObject({ status: 400, message: 'This address is taken' })
  t.clock.advance(days(90))
  for (const slug of ['former-slug', 'former-page']) await saveSlug(await t.make.org(), slug)
})

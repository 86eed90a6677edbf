import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from './index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

test('the typed client works with a session, with an API token and without credentials', async () => {
  const { admin, code } = await t.make.org()
  const orgs = await t.as(admin).orgs.list()
  expect(orgs.map((org) => org.code)).toEqual([admin.playground.code, code])
  const apiToken = await t.make.token(admin)
  expect(await t.as(apiToken).orgs.get({ params: { code } })).toMatchObject({ code, roleType: 'admin' })
  await expect(t.as(null).orgs.list()).rejects.toMatchObject({ status: 401 })
})

import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { minutes } from '../clock.ts'
import { operatorAuth } from '../modules/auth/index.ts'
import { startTestApp, type TestApp, type TestUser } from '../testing/index.ts'

/** The body of a call can arrive long after its headers. Until the change, the caller may have lost the right to it. */
const password = 'a long enough password'
let t: TestApp
let operator: TestUser
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t?.close())
beforeEach(async () => {
  operator = await t.make.operator({ password })
  await t.as(operator).operators.confirmPassword({ body: { password } })
})

/** Calls with a body that arrives after `work`, which starts when the server waits for the body. */
async function call(path: string, payload: object, work: () => Promise<unknown>) {
  const text = JSON.stringify(payload)
  let hasWorked = false
  const body = new Readable({
    read() {
      void work().then(() => {
        hasWorked = true
        this.push(text)
        this.push(null)
      })
    },
  })
  const headers = {
    authorization: `token ${operator.token}`,
    'content-type': 'application/json',
    'content-length': String(text.length),
  }
  const response = await t.http.inject({ method: 'POST', url: `/api/v1${path}`, headers, payload: body })
  expect(hasWorked).toBe(true)
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() }
}

const suspend = async (work: () => Promise<unknown>) => {
  const { code } = await t.make.org()
  const path = `/admin/orgs/${code}/suspension`
  const response = await call(path, { reason: 'A reason' }, work)
  const { rows } = await t.app.database.pool.query<{ reason: string | null }>(
    'select suspension_reason as reason from orgs where code = $1',
    [code],
  )
  const error = String(response.body.error).replace(path, '{path}')
  return { status: response.status, body: { ...response.body, error }, reason: rows[0]?.reason }
}
const unknownPath = { status: 404, body: { error: 'Cannot POST /api/v1{path}', code: 'NOT_FOUND' } }

test('an operator whose rights are unchanged when the body arrives performs the change', async () => {
  expect(await suspend(() => Promise.resolve())).toMatchObject({ status: 201, reason: 'A reason' })
})

test.each<[string, () => Promise<unknown>, object]>([
  ['is no longer an operator', () => operatorAuth.setOperator(t.app.db, operator.email, false), unknownPath],
  ['is signed out', () => t.as(operator).auth.signOut(), unknownPath],
  [
    'is disabled',
    async () => {
      const other = await t.make.operator({ password })
      await t.as(other).operators.confirmPassword({ body: { password } })
      await t.as(other).operators.disableUser({ params: { id: String(operator.id) } })
    },
    unknownPath,
  ],
  [
    'entered the password too long ago',
    () => Promise.resolve(t.clock.advance(minutes(10))),
    { status: 405, body: { code: 'PASSWORD_NEEDED' } },
  ],
])('a caller who %s when the body arrives changes nothing', async (_, work, refusal) => {
  expect(await suspend(work)).toMatchObject({ ...refusal, reason: null })
})

test('a call counts once towards the limit of calls', async () => {
  const confirm = () => call('/admin/password', { password }, () => Promise.resolve())
  // The first of the ten calls confirmed the password before the test.
  for (let n = 1; n < 10; n++) expect(await confirm()).toMatchObject({ status: 201 })
  await expect(t.as(operator).operators.confirmPassword({ body: { password } })).rejects.toMatchObject({ status: 429 })
})

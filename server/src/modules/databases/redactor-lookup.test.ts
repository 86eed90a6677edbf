import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Db } from '../../db/database.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { rpcTokenOf } from '../rpc/tokens.ts'
import { insertSquid } from '../versions/index.ts'
import { passwordContext } from './passwords.ts'
import { createRedactorLookup } from './redactor-lookup.ts'
import { squidDatabases } from './tables.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

/** Creates a version with a database whose passwords are `owner NAME` and `reader NAME`. */
async function createVersion(org: { id: number }, name: string, maxExternalConnections: number): Promise<number> {
  const { db, sealer } = t.app
  const { id } = await insertSquid(db, { orgId: org.id, name, slot: 'v1' })
  await db.insert(squidDatabases).values({
    squidId: id,
    database: `db_${id}`,
    role: `owner_${id}`,
    readRole: `reader_${id}`,
    sealedPassword: sealer.seal(`owner ${name}`, passwordContext(id, 'owner')),
    sealedReadPassword: sealer.seal(`reader ${name}`, passwordContext(id, 'reader')),
    version: '17',
    profile: 'small',
    maxExternalConnections,
    totalBytes: 1,
  })
  return id
}

async function createOrg(secret: string) {
  const org = await t.make.org()
  await t.as(org.admin).secrets.change({
    params: { code: org.code },
    body: { secrets: [{ action: 'UPDATE', name: 'KEY', value: secret }] },
  })
  return { ...org, rpcToken: await rpcTokenOf(t.app, org.id) }
}

/** Runs `work` with an app whose queries are counted, and returns their number. */
async function countQueries(work: (app: TestApp['app']) => Promise<unknown>): Promise<number> {
  let queries = 0
  const db = new Proxy<Db>(t.app.db, {
    get(target, name: keyof Db) {
      if (name === 'select' || name === 'execute') queries += 1
      return Reflect.get(target, name).bind(target) as unknown
    },
  })
  await work({ ...t.app, db })
  return queries
}

test('redactors redact all values even if there are more versions than the cache may contain', async () => {
  const org = await createOrg('secret of many')
  const ids = [await createVersion(org, 'first', 0), await createVersion(org, 'second', 0)]
  const redactorsOf = createRedactorLookup(t.app, 1)
  for (let call = 0; call < 3; call++) {
    const redactorOf = await redactorsOf(ids)
    for (const id of ids) expect(redactorOf(id)('secret of many')).not.toContain('secret of many')
  }
})

test('each version has its own redactor, and many redactors need as many queries as one', async () => {
  const [a, b] = [await createOrg('secret of a'), await createOrg('secret of b')]
  const open = await createVersion(a, 'open', 5)
  const closed = await createVersion(a, 'closed', 0)
  const other = await createVersion(b, 'other', 5)

  const redactorOf = await createRedactorLookup(t.app)([open, closed, other])
  const text = ['secret of a', 'secret of b', a.rpcToken, b.rpcToken, 'owner open', 'reader open', 'owner closed'].join(
    '|',
  )
  const unredactedParts = (squidId: number) =>
    redactorOf(squidId)(text)
      .split('|')
      .filter((part) => text.includes(part))
  expect(unredactedParts(open)).toEqual(['secret of b', b.rpcToken, 'owner closed'])
  expect(unredactedParts(closed)).toEqual(['secret of b', b.rpcToken, 'owner open', 'reader open'])
  expect(unredactedParts(other)).toEqual(['secret of a', a.rpcToken, 'owner open', 'reader open', 'owner closed'])

  const one = await countQueries((app) => createRedactorLookup(app)([open]))
  expect(await countQueries((app) => createRedactorLookup(app)([open, closed, other]))).toBe(one)
})

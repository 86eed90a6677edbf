import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../../db/database.ts'
import { singleHost } from '../../../db/database-hosts.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { parseManifest } from '../../manifest/manifest.ts'
import { parsePlan } from '../../manifest/plan.ts'
import { insertSquid } from '../../versions/store.ts'
import { ownerConnection, syncDatabase } from '../database.ts'
import { observeDatabases } from './observe-databases.ts'

let t: TestApp
beforeAll(async () => {
  t = await startTestApp()
})
afterAll(() => t?.close())

test('a tenant that prevents Shoal from measuring its database does not prevent it for the others', async () => {
  const { pool } = t.app.database
  await pool.query(`create role measuring_operator login password 'x' createrole createdb`)
  const url = new URL(t.app.database.url)
  Object.assign(url, { username: 'measuring_operator', password: 'x' })
  const cluster = connect(url.href, { max: 3 })
  const errors: unknown[] = []
  const log = Object.assign(Object.create(t.app.log) as typeof t.app.log, {
    error: (details: unknown) => void errors.push(details),
  })
  const app = { ...t.app, log, databaseHosts: singleHost(cluster) }
  try {
    const org = await t.make.org()
    const plan = parsePlan(parseManifest('deploy: { addons: { postgres: {} }, processor: { cmd: [x] } }'))
    const add = async (name: string) => {
      const { id } = await insertSquid(t.app.db, { orgId: org.id, name, slot: 'v1' })
      await syncDatabase(app, { squidId: id, plan, isPlayground: false })
      return id
    }
    const [hostile, other] = [await add('hostile'), await add('other')]
    const connection = await ownerConnection(app, hostile)
    if (!connection) throw new Error('no database')
    const measured = async () => {
      await pool.query('update squid_databases set used_bytes = null')
      await observeDatabases(app)
      const { rows } = await pool.query<{ id: number }>(
        'select squid_id as id from squid_databases where used_bytes > 0 order by squid_id',
      )
      return rows.map(({ id }) => id)
    }
    const owner = new Client(connection.url)
    await owner.connect()
    try {
      await owner.query(`revoke connect on database ${connection.database} from current_user, ${connection.user}_ro`)
      expect(await measured()).toEqual([hostile, other])
      await owner.query(`revoke connect on database ${connection.database} from measuring_operator`)
    } finally {
      await owner.end()
    }
    expect(errors).toEqual([])
    // Without its membership, Shoal's role cannot grant itself the privilege.
    await pool.query(`revoke ${connection.user}, ${connection.user}_ro from measuring_operator cascade`)
    for (let round = 0; round < 2; round++) expect(await measured()).toEqual([other])
    expect(errors).toEqual([expect.objectContaining({ squidId: hostile })])
  } finally {
    await cluster.close()
  }
})

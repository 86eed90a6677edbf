import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CliOptions } from './commands.ts'
import { postgresCommands } from './postgres.ts'
import { loadConfig } from '../config/config.ts'
import { createDatabaseHosts } from '../db/database-hosts.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'

let t: TestApp
beforeAll(async () => {
  t = await startTestApp()
  t.app.config = {
    ...t.app.config,
    ...loadConfig({
      SHOAL_SQUIDS_DATABASE_URL: `postgres://a:b@10.0.0.5/postgres,
        postgres://postgres:b@large-rw.shoal-postgres.svc/postgres?shoal_name=large&shoal_for=dedicated,
        postgres://shoal:b@other-rw.shoal-postgres.svc/postgres?shoal_name=other,
        postgres://postgres:b@old-rw.shoal-postgres.svc/postgres?shoal_name=old&shoal_max_databases=0,
        postgres://postgres:b@huge-rw.shoal-postgres.svc/postgres?shoal_name=huge&shoal_max_databases=101,
        postgres://postgres:b@port-rw.shoal-postgres.svc:6432/postgres?shoal_name=port`,
      // The file does not exist, so a command that is not refused fails when it opens the cluster.
      SHOAL_KUBECONFIG: '/nonexistent',
    }),
  }
  const { cluster } = t.app.databaseHosts.get('main')
  t.app.databaseHosts = createDatabaseHosts(
    t.app.config.squidServers.map(({ name, weight, maxDatabases }) => ({ name, weight, maxDatabases, cluster })),
  )
})
afterAll(() => t?.close())

const size = { name: 'large', profile: 'large', storage: '100' }

test.each([
  ['postgres apply', { ...size, name: 'small' }, 'SHOAL_SQUIDS_DATABASE_URL has no server "small"'],
  ['postgres apply', { ...size, name: 'main' }, 'is 10.0.0.5, but CloudNativePG makes servers with the host'],
  ['postgres apply', { ...size, name: 'other' }, 'needs the user postgres and a password'],
  ['postgres apply', { ...size, profile: 'huge' }, '--profile must be one of small, medium, large, xlarge, 2xlarge'],
  ['postgres apply', { ...size, storage: '1.5' }, '--storage must be a whole number from 1 to 65536'],
  ['postgres apply', { ...size, instances: '0' }, '--instances must be a whole number from 1 to 9'],
  [
    'postgres apply',
    { ...size, name: 'old' },
    'shoal_max_databases of the server "old" must be a whole number from 1 to 100',
  ],
  [
    'postgres apply',
    { ...size, name: 'huge' },
    'shoal_max_databases of the server "huge" must be a whole number from 1 to 100',
  ],
  ['postgres apply', { ...size, name: 'port' }, 'is 6432, but servers of CloudNativePG have port 5432'],
  ['postgres apply', size, '/nonexistent'],
  ['postgres status', { name: 'main' }, 'CloudNativePG makes servers with the host NAME-rw.NAMESPACE.svc'],
  ['postgres status', { name: 'large' }, '/nonexistent'],
  ['postgres delete', { name: 'main' }, 'CloudNativePG makes servers with the host NAME-rw.NAMESPACE.svc'],
  ['postgres delete', { name: 'large', force: true }, 'set shoal_max_databases=0 for it, and restart Shoal first'],
  ['postgres delete', { name: 'old' }, 'deletes all data of the server "old" (shoal-postgres/old): add --force'],
  ['postgres delete', { name: 'old', force: true }, '/nonexistent'],
] as const)('%s %j is refused: %s', async (command, options, message) => {
  await expect(postgresCommands[command].run(t.app, options as unknown as CliOptions)).rejects.toThrow(message)
})

test('a server with databases of squids is not deleted, even if it was renamed in the setting', async () => {
  const org = await t.make.org()
  const { rows } = await t.app.database.pool.query<{ id: number }>(
    `insert into squids (org_id, name, slot) values ($1, 'test-squid', 'v1') returning id`,
    [org.id],
  )
  await t.app.database.pool.query(
    `insert into squid_databases
       (squid_id, database, role, read_role, sealed_password, sealed_read_password, version, profile, total_bytes, server)
     values ($1, 'x', 'x', 'x_ro', '', '', '15', 'large', 1, 'old')`,
    [rows[0]?.id],
  )
  const remove = () => postgresCommands['postgres delete'].run(t.app, { name: 'old', force: true } as CliOptions)
  await expect(remove()).rejects.toThrow('The server "old" has 1 database of squids')
  await t.app.database.pool.query(`update squid_databases set server = 'earlier-name'`)
  await expect(remove()).rejects.toThrow('1 database is on, or being moved to, the server "earlier-name"')
  await t.app.database.pool.query(`update squid_databases set server = 'main', moving_to = 'old'`)
  await expect(remove()).rejects.toThrow('The server "old" has 1 database of squids')
})

import { expect, test } from 'vitest'
import { databaseAccess } from './database-access.ts'
import { connectionText, hiddenPassword } from './database-commands.ts'

const params = { host: 'pg.example.com', port: 6432, database: 'sq_1', user: 'sq_1_ro', password: "it's 50%" }
const connection = { params, uri: 'postgres://sq_1_ro:it%27s%2050%25@pg.example.com:6432/sq_1?sslmode=require' }

test('each kind of connection text quotes or encodes the password', () => {
  expect(connectionText('PSQL', connection, params.password)).toBe(
    String.raw`PGPASSWORD='it'\''s 50%' PGSSLMODE=require psql -h pg.example.com -p 6432 -d sq_1 -U sq_1_ro`,
  )
  expect(connectionText('JDBC', connection, params.password)).toBe(
    "jdbc:postgresql://pg.example.com:6432/sq_1?user=sq_1_ro&password=it's%2050%25&sslmode=require",
  )
  expect(connectionText('URI', connection, params.password)).toBe(
    "postgres://sq_1_ro:it's%2050%25@pg.example.com:6432/sq_1?sslmode=require",
  )
})

test('connection texts contain the placeholder instead of a hidden password', () => {
  for (const kind of ['PSQL', 'JDBC', 'URI'] as const) {
    const text = connectionText(kind, connection, hiddenPassword)
    expect(text).toContain(hiddenPassword)
    expect(text).not.toMatch(/50/)
  }
})

test('database access requires the Pro plan, a running version and a manifest that allows connections', () => {
  const org = { status: 'ACTIVE', roleType: 'developer', limits: { squids: 100, playground: false } } as const
  const disk = { usageStatus: 'LOW', usedBytes: 1, totalBytes: 9 } as const
  const squid = (...connections: (typeof connection)[]) =>
    ({
      status: 'DEPLOYED',
      image: 'one',
      addons: { postgres: { connections, disk, version: '16', profile: 'small' } },
    }) as const
  expect(databaseAccess(org, squid(connection))).toEqual({ isOpen: true, connection })
  const reason = (...args: Parameters<typeof databaseAccess>) => {
    const access = databaseAccess(...args)
    return access.isOpen ? null : [access.reason, access.remedy]
  }
  const playground = { ...org, limits: { squids: 1, playground: true } }
  expect(reason(playground, squid())).toEqual([expect.stringContaining('Pro plan'), 'newOrganization'])
  expect(reason({ ...org, roleType: 'viewer' }, squid())).toEqual([
    'Your role cannot see passwords and tokens or export databases. Ask an administrator for the developer role.',
    null,
  ])
  expect(reason({ ...org, status: 'DRAFT' }, squid())).toEqual([expect.stringContaining('Pro plan'), 'billing'])
  expect(reason({ ...org, status: 'IN_DEBT' }, squid())).toEqual([expect.stringContaining('overdue'), 'billing'])
  expect(reason(org, { ...squid(), status: 'DEPLOYING' })).toEqual([
    'You can connect once the version is running.',
    null,
  ])
  const onNeon = { ...squid(), addons: { neon: { connections: [connection] } } }
  expect(databaseAccess(org, onNeon)).toEqual({ isOpen: true, connection })
  expect(reason(org, squid())).toEqual([expect.stringContaining('max_connections'), null])
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabaseHosts } from '../../db/database-hosts.ts'
import { connect } from '../../db/database.ts'
import { readReport } from '../../installation/heartbeat.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { installationFindings, type InstallationState } from './findings.ts'
import { readOverview } from './overview.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t?.close())

describe('Postgres', () => {
  const state: InstallationState = {
    now: new Date(),
    replicas: [],
    unfinished: [],
    postgres: [],
    backup: { at: null, isExternal: true },
    certificates: [],
  }
  const findingsWith = (connections: { open: number; max: number } | null, isEmbedded = false) =>
    installationFindings({ ...state, postgres: [{ name: 'Postgres', isEmbedded, connections }] }).filter(
      ({ subject }) => subject === 'Postgres',
    )

  test.each([
    [0, []],
    [159, []],
    [160, ['warn']],
    [189, ['warn']],
    [190, ['bad']],
    [200, ['bad']],
  ])('with %i of 200 open connections, the findings are %j', (open, severities) => {
    const found = findingsWith({ open, max: 200 })
    expect(found.map(({ severity }) => severity)).toEqual(severities)
    for (const { text } of found) expect(text).toBe(`${open} of 200 connections are open`)
  })

  test('the remedy names the setting of the Postgres that the installation uses', () => {
    const remedies = (connections: { open: number; max: number } | null) =>
      [true, false].map((isEmbedded) => findingsWith(connections, isEmbedded)[0]?.remedy)
    expect(remedies({ open: 99, max: 100 })).toEqual([
      expect.stringContaining('SHOAL_POSTGRES_CONNECTIONS'),
      expect.stringContaining('max_connections'),
    ])
    expect(remedies(null)).toEqual([expect.stringContaining('postgres.log'), expect.stringContaining('pg_hba.conf')])
  })

  test('a server of squids that does not respond is reported, and the others are still measured', async () => {
    // Nothing listens on port 1.
    const down = connect('postgres://squids@127.0.0.1:1/postgres', { max: 1 })
    try {
      const databaseHosts = createDatabaseHosts([
        { name: 'up', cluster: t.app.database, weight: 1, maxDatabases: null },
        { name: 'down', cluster: down, weight: 1, maxDatabases: null },
      ])
      const { findings, postgres } = await readOverview({ ...t.app, databaseHosts })
      const connections = { open: expect.any(Number) as number, max: expect.any(Number) as number }
      expect(postgres).toMatchObject([
        { name: 'Postgres of Shoal', connections },
        { name: 'Postgres of squids "up"', connections },
        { name: 'Postgres of squids "down"', connections: null },
      ])
      expect(findings.filter(({ subject }) => subject.startsWith('Postgres'))).toMatchObject([
        { severity: 'bad', subject: 'Postgres of squids "down"', text: 'It does not respond' },
      ])
    } finally {
      await down.close()
    }
  })
})

describe('disk', () => {
  const size = 1_000
  const reserve = 50

  /** Returns the findings about the disk of a process whose last heartbeat, `silence` ago, reports this free space. */
  async function findingsWith(free: number | null, silence = '0 s') {
    const report = { ...(await readReport(t.app)), disk: free === null ? null : { free, size, reserve } }
    const { pool } = t.app.database
    await pool.query(
      `insert into replicas (id, name, report, started_at, seen_at)
       values (gen_random_uuid(), 'host/1', $1, now() - interval '1 hour', now() - $2::interval)`,
      [JSON.stringify(report), silence],
    )
    const { findings } = await readOverview(t.app)
    await pool.query('delete from replicas')
    return findings.filter(({ subject, text }) => subject === 'host/1' && text.includes('disk'))
  }

  test.each([
    [9, 'bad', '0.9 % of its disk is free: programs fail to write'],
    [10, 'bad', '1.0 % of its disk is free: deployments are refused'],
    [49, 'bad', '4.9 % of its disk is free: deployments are refused'],
    [50, 'warn', '5.0 % of its disk is free: deployments will soon be refused'],
    [99, 'warn', '9.9 % of its disk is free: deployments will soon be refused'],
  ])('with %i of 1000 bytes free and a reserve of 50, the finding is "%s": %s', async (free, severity, text) => {
    expect(await findingsWith(free)).toMatchObject([{ severity, text }])
  })

  test('nothing is reported with twice the reserve free, for a disk that was not read, or for a process without heartbeats', async () => {
    expect(await findingsWith(2 * reserve)).toEqual([])
    expect(await findingsWith(null)).toEqual([])
    expect(await findingsWith(0, '5 minutes')).toEqual([])
  })
})

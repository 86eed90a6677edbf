import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addOrg, adminPassword } from '../support/org.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { connectTo } from '../support/postgres.ts'
import { cliOf, makeDataDir, startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const sim = { SHOAL_RUNTIME: 'sim', SHOAL_LOG_LEVEL: 'warn' }
const secret = 'a secret that must stay unreadable'
const org = 'acme-labs'

type BackupResult = { file: string; holds: Record<string, number>; notes: string[] }

describe('a backup', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-backups-'))
  const file = join(folder, 'shoal.tar')
  const restoredDir = makeDataDir()
  let shoal: Shoal
  let restored: Shoal | undefined
  let token: string
  let email: string
  /** How many rows were committed when the backup began, and when it had ended. */
  let committedRows: { before: number; after: number }
  let result: BackupResult

  beforeAll(async () => {
    shoal = await startShoal(sim)
    const admin = await addOrg(shoal, org)
    const { api } = admin
    ;({ token, email } = admin)
    await api.secrets.change({
      params: { code: org },
      body: { secrets: [{ action: 'UPDATE', name: 'KEY', value: secret }] },
    })
    await deploySimulated({ shoal, org, token, api }, { name: 'pools', slot: 'v1' })
  })

  afterAll(async () => {
    await Promise.allSettled([shoal?.end(), restored?.end()])
    for (const dir of [folder, restoredDir]) rmSync(dir, { recursive: true, force: true })
  })

  test('can be made while rows are written', async () => {
    const writer = await startWriter(shoal.dataDir)
    try {
      await until(() => Promise.resolve(writer.rows() > 5_000), 'many rows are written')
      const before = writer.rows()
      result = await shoal.cli<BackupResult>('backup', '--to', file)
      committedRows = { before, after: writer.rows() }
    } finally {
      await writer.end()
    }
    expect(committedRows.after).toBeGreaterThan(committedRows.before)
    expect(result).toMatchObject({ file, holds: { databases: 2, uploads: 1 } })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['shoal.tar'])
  })

  test('contains no unencrypted secret, key or password, and its report says where the keys are', () => {
    const content = zstdDecompressSync(contentOf(file))
    for (const path of ['secrets.key', 'postgres/password', 'postgres-squids/password'])
      expect(content.includes(readFileSync(join(shoal.dataDir, path), 'utf8').trim())).toBe(false)
    expect(content.includes(secret)).toBe(false)
    expect(content.includes('postgres/data/backup_label')).toBe(true)
    expect(result.notes.join()).toContain(join(shoal.dataDir, 'secrets.key'))
  })

  test('can be restored to another directory; the restore reports missing keys', async () => {
    const { notes } = await cliOf(restoredDir)<BackupResult>('restore', '--from', file)
    expect(notes.join()).toContain('Stop it before the first start')
    expect(notes.join()).toMatch(/keys that seal secrets are missing .* put your copy at .*secrets\.key/)
    expect(existsSync(join(restoredDir, 'secrets.key'))).toBe(false)
    expect(existsSync(join(restoredDir, 'postgres/data/postmaster.pid'))).toBe(false)
  })

  test('is complete: the restored server has all data that was committed before the backup', async () => {
    copyFileSync(join(shoal.dataDir, 'secrets.key'), join(restoredDir, 'secrets.key'))
    restored = await startShoal(sim, restoredDir)
    const api = restored.as(token)
    const params = { code: org }
    await restored.as('').auth.signIn({ body: { email, password: adminPassword } })
    expect(await api.secrets.list({ params })).toEqual({ secrets: { KEY: '***' } })
    await until(async () => {
      const [squid] = await api.squids.list({ params })
      return squid?.name === 'pools' && squid.status === 'DEPLOYED' && squid.api?.status === 'AVAILABLE'
    }, 'the squid is running')
    const rows = await rowsOf(restoredDir)
    expect(rows.highest).toBeGreaterThanOrEqual(committedRows.before)
    // The writer may not have counted its last committed transaction yet.
    expect(rows.highest).toBeLessThanOrEqual(committedRows.after + 100)
    // No row is missing, neither in the table nor in the index.
    expect(rows).toMatchObject({ count: rows.highest, countByIndex: rows.highest })
    const uploads = (dir: string) => readdirSync(join(dir, 'uploads'))
    expect(uploads(restoredDir)).toEqual(uploads(shoal.dataDir))
  })
})

/** A backup begins with the tar entry of the backup's manifest (a header of 512 bytes, and this many bytes of JSON), then the header of its content. */
const manifestBytes = 4096
const contentOf = (file: string): Buffer => {
  const bytes = readFileSync(file)
  const { content } = JSON.parse(bytes.toString('utf8', 512, 512 + manifestBytes)) as { content: { bytes: number } }
  return bytes.subarray(1024 + manifestBytes, 1024 + manifestBytes + content.bytes)
}

/** Inserts rows with numbers from 1, 100 per transaction, and creates and drops tables, so that files change during the backup. */
async function startWriter(dataDir: string) {
  const client = await connectTo(dataDir, 'shoal')
  await client.query('create table numbered_rows (number int primary key, word text)')
  let rows = 0
  let isEnding = false
  const writing = (async () => {
    while (!isEnding) {
      await client.query(
        `insert into numbered_rows select n, repeat(md5(n::text), 8) from generate_series($1::int, $1::int + 99) n`,
        [rows + 1],
      )
      rows += 100
      await client.query('create table temporary_copy as select * from numbered_rows limit 1000')
      await client.query('drop table temporary_copy')
    }
  })()
  return {
    rows: () => rows,
    end: async () => {
      isEnding = true
      await writing.finally(() => client.end())
    },
  }
}

/** Reads the numbered rows: how many have the correct text, the highest number, and how many the index has. */
async function rowsOf(dataDir: string) {
  const client = await connectTo(dataDir, 'shoal')
  try {
    const readNumber = async (sql: string) => Number((await client.query<{ n: string }>(sql)).rows[0]?.n)
    const count = await readNumber('select count(*) as n from numbered_rows where word = repeat(md5(number::text), 8)')
    const highest = await readNumber('select max(number) as n from numbered_rows')
    await client.query('set enable_seqscan = off')
    return {
      count,
      highest,
      countByIndex: await readNumber('select count(number) as n from numbered_rows where number > 0'),
    }
  } finally {
    await client.end()
  }
}

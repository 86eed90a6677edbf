import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startExternalPostgres, type ExternalPostgres } from '../scripts/external-postgres.ts'
import { startProcess, type ServerProcess } from './support/server-process.ts'
import { makeDataDir } from './support/shoal.ts'
import { until } from './support/until.ts'

const token = 'a-token-of-the-operator'
const sizeMiB = 64
const dataDir = makeDataDir()
let postgres: ExternalPostgres | null = null
let server: ServerProcess | null = null

let isMounted = false

beforeAll(() => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'tmpfs', dataDir], { stdio: 'pipe' })
    isMounted = true
  } catch {
    console.log('Not tested: the warning about an almost full disk. Only root can mount a small one.')
  }
})

afterAll(async () => {
  server?.signal('SIGKILL')
  await server?.ended
  await postgres?.stop()
  if (isMounted) execFileSync('umount', ['--lazy', dataDir])
  rmSync(dataDir, { recursive: true, force: true })
})

test('a disk with less than 5 % free is reported by /readyz and metrics; a full one makes /readyz fail', async ({
  skip,
}) => {
  skip(!isMounted)
  postgres = await startExternalPostgres()
  server = await startProcess({
    SHOAL_DATA_DIR: dataDir,
    DATABASE_URL: postgres.url('shoal'),
    SHOAL_METRICS_TOKEN: token,
  })
  await server.ready()
  const { url } = server
  const facts = async () => {
    const response = await fetch(`${url}/readyz`)
    expect(response.status).toBe(200)
    return ((await response.json()) as { facts: Record<string, unknown> }).facts
  }
  const freeShare = async () => {
    const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text()
    const bytes = (state: string) =>
      Number(new RegExp(`^shoal_disk_bytes\\{state="${state}"\\} (\\d+)$`, 'm').exec(text)?.[1])
    expect(bytes('size')).toBe(sizeMiB * 1024 * 1024)
    return bytes('free') / bytes('size')
  }
  expect(await facts()).toMatchObject({ diskWarning: null })
  expect(await freeShare()).toBeGreaterThan(0.5)

  const file = join(dataDir, 'ballast')
  writeFileSync(file, Buffer.alloc((sizeMiB - 3) * 1024 * 1024))
  const full = await until(async () => (await facts())['diskWarning'], 'it warns', 10_000)
  expect(full).toMatch(/^only [1-4]\.\d % is free$/)
  expect(await facts()).toMatchObject({ diskFreePercent: expect.toSatisfy((percent: number) => percent < 5) })
  expect(await freeShare()).toBeLessThan(0.05)

  expect(() => writeFileSync(join(dataDir, 'rest'), Buffer.alloc(3 * 1024 * 1024))).toThrow('ENOSPC')
  const unready = await until(
    async () => {
      const response = await fetch(`${url}/readyz`)
      return response.status === 503 ? ((await response.json()) as { checks: Record<string, string> }) : null
    },
    'it is not ready',
    10_000,
  )
  expect(unready.checks['disk']).toBe('only 0.0 % is free')

  rmSync(file)
  await until(async () => (await fetch(`${url}/readyz`)).ok, 'it has free space again', 10_000)
  expect(await facts()).toMatchObject({ diskWarning: null })
})

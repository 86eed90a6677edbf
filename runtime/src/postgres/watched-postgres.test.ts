import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import * as embeddedPostgres from './embedded-postgres.ts'
import * as postgresProgram from './postgres-program.ts'
import { watchEmbeddedPostgres } from './watched-postgres.ts'

vi.mock('./embedded-postgres.ts', { spy: true })
vi.mock('./postgres-program.ts', { spy: true })

let dir: string
let messages: string[]
let stop: () => Promise<void>
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-watched-'))
  mkdirSync(join(dir, 'data'))
  messages = []
  stop = () => Promise.resolve()
  vi.mocked(embeddedPostgres.restartEmbeddedPostgres).mockResolvedValue()
})
afterEach(async () => {
  await stop()
  vi.restoreAllMocks()
  rmSync(dir, { recursive: true, force: true })
})

const watch = () => {
  stop = watchEmbeddedPostgres({ dir, onCrashLoop: null, log: (message) => void messages.push(message) })
}
const logged = (text: string) => messages.filter((message) => message.includes(text)).length

test('Postgres is restarted even if its log cannot be read', async () => {
  mkdirSync(join(dir, 'data/postgres.log'))
  watch()
  await expect.poll(() => logged('was restarted')).toBeGreaterThan(0)
  expect(messages[0]).toContain('(it cannot be read: EISDIR')
})

test('a disk that cannot be read for a while is reported once, and Postgres is watched afterwards', async () => {
  mkdirSync(join(dir, 'data/postmaster.pid'))
  watch()
  const problem = 'Shoal cannot see whether the embedded Postgres'
  await expect.poll(() => vi.mocked(postgresProgram.runningPort).mock.calls.length).toBeGreaterThan(2)
  expect(logged(problem)).toBe(1)
  rmSync(join(dir, 'data/postmaster.pid'), { recursive: true })
  await expect.poll(() => logged('was restarted')).toBeGreaterThan(0)
  expect(logged(problem)).toBe(1)
})

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { tryFileLock, waitForFileLock } from './file-lock.ts'

function lockFileIn(parent = tmpdir()): string {
  const dir = mkdtempSync(join(parent, 'shoal-lock-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return join(dir, 'some.lock')
}

/** A process that takes the lock, reports the result, and keeps running. */
async function holder(file: string, mode: 'shared' | 'exclusive', more = ''): Promise<[ChildProcess, boolean]> {
  const module = new URL('file-lock.ts', import.meta.url).href
  const code = `import { tryFileLock } from ${JSON.stringify(module)}
    globalThis.lock = tryFileLock(${JSON.stringify(file)}, '${mode}')
    ${more}
    console.log(globalThis.lock ? 'has it' : 'refused')
    setInterval(() => globalThis.gc?.(), 50)`
  const args = ['--expose-gc', '--input-type=module', '-e', code]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  onTestFinished(() => void (child.pid && endGroup(child.pid)))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return [child, line === 'has it']
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

async function killed(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const can = (file: string, mode: 'shared' | 'exclusive'): boolean => {
  const lock = tryFileLock(file, mode)
  lock?.release()
  return lock !== null
}

test.each([
  ['the temporary folder', tmpdir()],
  ['a file system in memory', '/dev/shm'],
])('one process holds a lock exclusively, in %s, until it is killed', async (_, parent) => {
  if (!existsSync(parent)) return
  const file = lockFileIn(parent)
  const [child, has] = await holder(file, 'exclusive')
  expect(has).toBe(true)
  expect([can(file, 'exclusive'), can(file, 'shared')]).toEqual([false, false])
  await killed(child)
  expect(can(file, 'exclusive')).toBe(true)
})

test('many processes share a lock, and an exclusive lock is available after the last of them has ended', async () => {
  const file = lockFileIn()
  const [[one], [other]] = await Promise.all([holder(file, 'shared'), holder(file, 'shared')])
  expect([can(file, 'shared'), can(file, 'exclusive')]).toEqual([true, false])
  await killed(one)
  expect(can(file, 'exclusive')).toBe(false)
  await killed(other)
  expect(can(file, 'exclusive')).toBe(true)
})

test('of ten concurrent attempts, one gets the lock', async () => {
  const file = lockFileIn()
  const attempts = await Promise.all(Array.from({ length: 10 }, () => waitForFileLock(file, 'exclusive', 300)))
  expect(attempts.filter((lock) => lock !== null)).toHaveLength(1)
  attempts.forEach((lock) => lock?.release())
  const processes = await Promise.all(Array.from({ length: 4 }, () => holder(file, 'exclusive')))
  expect(processes.filter(([, has]) => has).length).toBeLessThanOrEqual(1)
})

test('a child that outlives its parent does not keep the lock', async () => {
  const file = lockFileIn()
  const more = `const { spawn } = await import('node:child_process')
    spawn('sleep', ['300'], { stdio: 'ignore' })`
  const [child, has] = await holder(file, 'exclusive', more)
  expect(has).toBe(true)
  await killed(child)
  expect(can(file, 'exclusive')).toBe(true)
})

test('a stopped process keeps its lock', async () => {
  const file = lockFileIn()
  const [child] = await holder(file, 'exclusive')
  child.kill('SIGSTOP')
  expect(can(file, 'exclusive')).toBe(false)
  child.kill('SIGCONT')
  await killed(child)
  expect(can(file, 'exclusive')).toBe(true)
})

test('only its owner may open the file, which stays empty without other files beside it', () => {
  const file = lockFileIn()
  const lock = tryFileLock(file, 'exclusive')
  expect(statSync(file)).toMatchObject({ size: 0 })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(file, '..'))).toEqual(['some.lock'])
  lock?.release()
  expect(() => tryFileLock(join(file, 'below'), 'shared')).toThrow()
})

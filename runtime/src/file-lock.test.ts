import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { tryFileLock, waitForFileLock } from './file-lock.ts'

function createLockPath(parent = tmpdir()): string {
  const dir = mkdtempSync(join(parent, 'shoal-lock-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return join(dir, 'some.lock')
}

/** Starts a process that tries to acquire the lock and continues to run. Resolves with the process and whether it has the lock. */
async function startHolder(
  file: string,
  mode: 'shared' | 'exclusive',
  extraCode = '',
): Promise<[ChildProcess, boolean]> {
  const module = new URL('file-lock.ts', import.meta.url).href
  const code = `import { tryFileLock } from ${JSON.stringify(module)}
    globalThis.lock = tryFileLock(${JSON.stringify(file)}, '${mode}')
    ${extraCode}
    console.log(globalThis.lock ? 'locked' : 'denied')
    setInterval(() => globalThis.gc?.(), 50)`
  const args = ['--expose-gc', '--input-type=module', '-e', code]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  onTestFinished(() => void (child.pid && endGroup(child.pid)))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return [child, line === 'locked']
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has already ended.
  }
}

async function killAndWait(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const canLock = (file: string, mode: 'shared' | 'exclusive'): boolean => {
  const lock = tryFileLock(file, mode)
  lock?.release()
  return lock !== null
}

test.each([
  ['the temporary folder', tmpdir()],
  ['a file system in memory', '/dev/shm'],
])('one process holds a lock exclusively, in %s, until it is killed', async (_, parent) => {
  if (!existsSync(parent)) return
  const file = createLockPath(parent)
  const [child, hasLock] = await startHolder(file, 'exclusive')
  expect(hasLock).toBe(true)
  expect([canLock(file, 'exclusive'), canLock(file, 'shared')]).toEqual([false, false])
  await killAndWait(child)
  expect(canLock(file, 'exclusive')).toBe(true)
})

test('several processes share a lock, and an exclusive lock is available after the last one has ended', async () => {
  const file = createLockPath()
  const [[firstHolder], [secondHolder]] = await Promise.all([startHolder(file, 'shared'), startHolder(file, 'shared')])
  expect([canLock(file, 'shared'), canLock(file, 'exclusive')]).toEqual([true, false])
  await killAndWait(firstHolder)
  expect(canLock(file, 'exclusive')).toBe(false)
  await killAndWait(secondHolder)
  expect(canLock(file, 'exclusive')).toBe(true)
})

test('of ten concurrent attempts, one gets the lock', async () => {
  const file = createLockPath()
  const attempts = await Promise.all(Array.from({ length: 10 }, () => waitForFileLock(file, 'exclusive', 300)))
  expect(attempts.filter((lock) => lock !== null)).toHaveLength(1)
  attempts.forEach((lock) => lock?.release())
  const processes = await Promise.all(Array.from({ length: 4 }, () => startHolder(file, 'exclusive')))
  expect(processes.filter(([, hasLock]) => hasLock).length).toBeLessThanOrEqual(1)
})

test('a child that outlives its parent does not keep the lock', async () => {
  const file = createLockPath()
  const extraCode = `const { spawn } = await import('node:child_process')
    spawn('sleep', ['300'], { stdio: 'ignore' })`
  const [child, hasLock] = await startHolder(file, 'exclusive', extraCode)
  expect(hasLock).toBe(true)
  await killAndWait(child)
  expect(canLock(file, 'exclusive')).toBe(true)
})

test('a stopped process keeps its lock', async () => {
  const file = createLockPath()
  const [child] = await startHolder(file, 'exclusive')
  child.kill('SIGSTOP')
  expect(canLock(file, 'exclusive')).toBe(false)
  child.kill('SIGCONT')
  await killAndWait(child)
  expect(canLock(file, 'exclusive')).toBe(true)
})

test('the lock file is empty, private to its owner, and the only file in its folder', () => {
  const file = createLockPath()
  const lock = tryFileLock(file, 'exclusive')
  expect(statSync(file)).toMatchObject({ size: 0 })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(file, '..'))).toEqual(['some.lock'])
  lock?.release()
})

test('tryFileLock throws when the lock file cannot be created', () => {
  const file = createLockPath()
  writeFileSync(file, '')
  expect(() => tryFileLock(join(file, 'below'), 'shared')).toThrow(/ENOTDIR/)
})

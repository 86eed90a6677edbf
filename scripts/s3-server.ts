import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../e2e/support/free-port.ts'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { fillOnce, userCache } from './user-cache.ts'

const version = 'v1.8.0'
const cacheDir = join(userCache('shoal-versitygw'), version)
const program = join(cacheDir, 'versitygw')

/** Whether versitygw is in the user's cache. If not, tests with S3 are skipped. `npm run test:slow` builds it if Go is installed. */
export const hasS3Server = (): boolean => existsSync(program)

/** Builds versitygw, an S3 server, from its Go module into the user's cache. Does nothing without Go. Prints why when Go fails, for example offline. */
export async function ensureS3Server(): Promise<void> {
  if (existsSync(program) || (await runCommand('go', ['version'])).code !== 0) return
  await withProgress('Building versitygw for tests with S3', '  Done: versitygw', () =>
    fillOnce(cacheDir, async (unfinished) => {
      const args = [
        'go',
        'install',
        '-trimpath',
        '-ldflags=-s -w',
        `github.com/versity/versitygw/cmd/versitygw@${version}`,
      ]
      const env = { ...process.env, CGO_ENABLED: '0', GOBIN: unfinished }
      const { code, output } = await runCommand('nice', args, { env, cwd: unfinished })
      if (code !== 0)
        console.log(`versitygw cannot be built. Tests that need it are skipped.\n${output.trim().slice(-500)}`)
      return code === 0
    }),
  )
}

export type S3Server = {
  /** The SHOAL_S3_* settings of a bucket that exists. */
  settings: {
    SHOAL_S3_BUCKET: string
    SHOAL_S3_ENDPOINT: string
    SHOAL_S3_ACCESS_KEY: string
    SHOAL_S3_SECRET_KEY: string
  }
  /** Stops the server, and keeps its objects and its port for `start`. */
  stop: () => Promise<void>
  start: () => Promise<void>
  /** Stops the server and deletes its objects. */
  end: () => Promise<void>
}

/** Starts versitygw on loopback with an empty bucket. */
export async function startS3Server(): Promise<S3Server> {
  const dir = mkdtempSync(join(tmpdir(), 's3-'))
  const bucket = 'shoal-archives'
  mkdirSync(join(dir, 'objects', bucket), { recursive: true })
  mkdirSync(join(dir, 'metadata'))
  const port = await freePort()
  const settings = {
    SHOAL_S3_BUCKET: bucket,
    SHOAL_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    SHOAL_S3_ACCESS_KEY: 'AKIATESTACCESSKEY',
    SHOAL_S3_SECRET_KEY: 'test-secret-of-the-bucket',
  }
  let child: ChildProcess | null = null
  const stop = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((done) => child?.once('exit', done))
    child.kill('SIGKILL')
    await ended
  }
  const start = async () => {
    const args = ['--quiet', '--port', `127.0.0.1:${port}`, 'posix', '--sidecar', join(dir, 'metadata')]
    const started = spawn(program, [...args, join(dir, 'objects')], {
      cwd: dir,
      env: { ROOT_ACCESS_KEY: settings.SHOAL_S3_ACCESS_KEY, ROOT_SECRET_KEY: settings.SHOAL_S3_SECRET_KEY },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    let output = ''
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    while (!(await fetch(settings.SHOAL_S3_ENDPOINT).catch(() => null))) {
      if (started.exitCode !== null) throw new Error(`versitygw ended with ${started.exitCode}:\n${output}`)
      await delay(20)
    }
  }
  const end = async () => {
    await stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await start()
  } catch (error) {
    await end()
    throw error
  }
  return { settings, start, stop, end }
}

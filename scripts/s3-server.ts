import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../e2e/support/free-port.ts'
import { goInstall, hasGo } from './go-install.ts'
import { type LoopbackProgram, startLoopbackProgram } from './loopback-program.ts'
import { withProgress } from './progress.ts'
import { fillOnce, userCache } from './user-cache.ts'

const version = 'v1.8.0'
const cacheDir = join(userCache('shoal-versitygw'), version)
const program = join(cacheDir, 'versitygw')

/** Returns whether versitygw is in the user's cache. Tests that need S3 are skipped otherwise. `npm run test:slow` builds it if Go is installed. */
export const hasS3Server = (): boolean => existsSync(program)

/**
 * Builds versitygw, an S3 server, from its Go module into the user's cache. Does nothing without Go, and prints why if the build fails,
 * for example offline.
 */
export async function ensureS3Server(): Promise<void> {
  if (hasS3Server() || !(await hasGo())) return
  await withProgress('Building versitygw for tests with S3', () =>
    fillOnce(cacheDir, (unfinished) =>
      goInstall('versitygw', unfinished, [`github.com/versity/versitygw/cmd/versitygw@${version}`]),
    ),
  )
}

export type S3Server = {
  /** The SHOAL_S3_* settings for an existing bucket. */
  settings: {
    SHOAL_S3_BUCKET: string
    SHOAL_S3_ENDPOINT: string
    SHOAL_S3_ACCESS_KEY: string
    SHOAL_S3_SECRET_KEY: string
  }
  /** Stops the server without deleting its objects. `start` uses the same port again. */
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
  let running: LoopbackProgram | null = null
  const stop = async () => await running?.stop()
  const start = async () => {
    const args = ['--quiet', '--port', `127.0.0.1:${port}`, 'posix', '--sidecar', join(dir, 'metadata')]
    const env = { ROOT_ACCESS_KEY: settings.SHOAL_S3_ACCESS_KEY, ROOT_SECRET_KEY: settings.SHOAL_S3_SECRET_KEY }
    const started = startLoopbackProgram(program, [...args, join(dir, 'objects')], { cwd: dir, env })
    running = started
    await started.waitUntilReady(() => fetch(settings.SHOAL_S3_ENDPOINT))
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

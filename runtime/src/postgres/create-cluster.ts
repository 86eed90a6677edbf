import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { run, superuser } from './postgres-program.ts'
import type { SystemUser } from './system-user.ts'

/** Where a cluster listens, and the password of its superuser. Both are recorded in its directory, and stay the same. */
export type ClusterAddress = { port: number; password: string }

const passwordFile = (dir: string) => join(dir, 'password')
const portFile = (dir: string) => join(dir, 'port')

/** Returns the recorded password; null if there is none, or if it cannot be read. */
const recordedPassword = (dir: string): string | null => readRecord(passwordFile(dir)) || null

/** Returns the recorded port; 0 if there is none, or if it cannot be read. */
const recordedPort = (dir: string): number => Number(readRecord(portFile(dir)))

function readRecord(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}

/**
 * Returns the password of an existing cluster, which was recorded before the cluster got its name.
 * @throws Error if it cannot be read: another password would not open the cluster
 */
export function passwordOf(dir: string): string {
  const file = passwordFile(dir)
  let reason = 'the file is empty'
  try {
    const password = readFileSync(file, 'utf8').trim()
    if (password !== '') return password
  } catch (error) {
    reason = errorCode(error) === 'ENOENT' ? 'there is no such file' : (error as Error).message
  }
  throw new Error(`its password cannot be read from ${file}: ${reason}`)
}

/**
 * Returns the address that a cluster has or will have, even if its disk is full or cannot be read. The caller passes the address to
 * `createCluster` and `preferredPort` when it starts the cluster.
 */
export async function addressOf(dir: string): Promise<ClusterAddress> {
  const port = recordedPort(dir) || (await freePort(0))
  return { port, password: recordedPassword(dir) ?? randomBytes(24).toString('base64url') }
}

/**
 * Creates the cluster unless it exists, with the password of `address` if it has one. Resolves with the superuser's password.
 * @throws Error if the password of an existing cluster, or its disk, cannot be read. An existing cluster is never deleted.
 */
export async function createCluster(
  dir: string,
  binaries: string,
  owner: SystemUser | null,
  address?: ClusterAddress,
): Promise<string> {
  const dataDir = join(dir, 'data')
  // Unlike `existsSync`, this throws if the disk cannot be read, so that the cluster is not mistaken for a missing one.
  if (statSync(join(dataDir, 'PG_VERSION'), { throwIfNoEntry: false })) return passwordOf(dir)
  rmSync(dataDir, { recursive: true, force: true })
  const staging = `${dataDir}.part`
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  const password = address?.password ?? randomBytes(24).toString('base64url')
  const pwfile = join(staging, '..', 'pwfile')
  writeFileSync(pwfile, password, { mode: 0o600 })
  if (owner) {
    chownSync(staging, owner.uid, owner.gid)
    chownSync(pwfile, owner.uid, owner.gid)
  }
  const flags = [
    '-D',
    staging,
    '-U',
    superuser,
    '--pwfile',
    pwfile,
    '-A',
    'scram-sha-256',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  ]
  await run(join(binaries, 'bin/initdb'), flags, owner)
  rmSync(pwfile)
  // A power failure must not leave a cluster with an empty record.
  writeFileSync(passwordFile(dir), `${password}\n`, { mode: 0o600, flush: true })
  renameSync(staging, dataDir)
  return password
}

/** Resolves with the previous port of the cluster if another program now uses it; null when the port is free. */
export async function portTakenByOther(dir: string): Promise<number | null> {
  const port = recordedPort(dir)
  return await freePort(port).then(
    () => null,
    () => port,
  )
}

/** Resolves with the previous port if it is free, so that existing URLs stay valid; otherwise with a new one. Records it. */
export async function preferredPort(dir: string, address?: ClusterAddress): Promise<number> {
  const recorded = recordedPort(dir)
  const port = await freePort(recorded || (address?.port ?? 0)).catch(() => freePort(0))
  // A full disk must not destroy the record.
  if (port !== recorded) {
    rmSync(portFile(dir), { force: true })
    writeFileSync(portFile(dir), String(port), { mode: 0o600 })
  }
  return port
}

const freePort = (port: number) =>
  new Promise<number>((done, fail) => {
    const probe = createServer()
    probe.once('error', fail)
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (typeof address === 'object' && address ? done(address.port) : fail(new Error('no port'))))
    })
  })

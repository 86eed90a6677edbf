import { randomBytes, randomInt } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { run, superuser } from './postgres-program.ts'
import type { SystemUser } from './system-user.ts'

/** Where a cluster listens, and the password of its superuser. Both are recorded in its directory, and stay the same. */
export type ClusterAddress = { port: number; password: string }

const passwordFile = (dir: string) => join(dir, 'password')
const portFile = (dir: string) => join(dir, 'port')

/** Returns the recorded port; 0 if there is none. Throws if it cannot be read, so that another port does not replace the record. */
function recordedPort(dir: string): number {
  try {
    return Number(readFileSync(portFile(dir), 'utf8'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0
    throw error
  }
}

/** Returns the result of `access`; null if it throws, for example because the disk is full or cannot be read. */
function nullIfFailed<T>(access: () => T): T | null {
  try {
    return access()
  } catch {
    return null
  }
}

/**
 * Returns the password of an existing cluster. It was recorded before the cluster's folder was renamed to `data`.
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
 * Returns the address that a cluster has or will have, even if its disk is full or cannot be read. The address of a
 * cluster that was never created is not recorded; the caller passes it to `createCluster` and `takePort` when it starts the cluster.
 */
export async function addressOf(dir: string): Promise<ClusterAddress> {
  const port = nullIfFailed(() => recordedPort(dir)) || (await portForLater())
  return { port, password: nullIfFailed(() => passwordOf(dir)) ?? randomBytes(24).toString('base64url') }
}

/** Throws unless `actual` is the address that Shoal has used since it started. */
export function expectAddress(expected: ClusterAddress, actual: ClusterAddress): void {
  if (actual.port !== expected.port || actual.password !== expected.password)
    throw new Error('Its port or password is not the one that Shoal read when it started: restart Shoal')
}

/** Where a cluster is. `createdFile`: a file outside of `dir` that exists once the cluster was created. */
export type ClusterPaths = { dir: string; createdFile?: string }

/**
 * Creates the cluster unless it exists, with the password of `address` if it has one. Resolves with the superuser's password.
 * @throws Error if the password of an existing cluster, or its disk, cannot be read, or if `createdFile` exists without the cluster, for
 * example because its disk is not mounted. An existing cluster is never deleted.
 */
export async function createCluster(
  { dir, createdFile }: ClusterPaths,
  binaries: string,
  owner: SystemUser | null,
  address?: ClusterAddress,
): Promise<string> {
  const dataDir = join(dir, 'data')
  // Unlike `existsSync`, this throws if the disk cannot be read, so that the cluster is not mistaken for a missing one.
  if (statSync(join(dataDir, 'PG_VERSION'), { throwIfNoEntry: false })) {
    // Earlier releases did not record the creation. A full disk must not prevent the start.
    if (createdFile !== undefined) nullIfFailed(() => recordCreation(createdFile))
    return passwordOf(dir)
  }
  if (createdFile !== undefined && existsSync(createdFile))
    throw new Error(
      `its files are missing, although it was created earlier. If they are on a disk that is not mounted, mount it and restart Shoal. To start without the lost data, delete ${createdFile}`,
    )
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
  if (createdFile !== undefined) recordCreation(createdFile)
  return password
}

function recordCreation(file: string): void {
  if (!existsSync(file)) writeFileSync(file, '', { mode: 0o600 })
}

/** Resolves with the port of `address` (default: the previous port) if another program uses the port; null if the port is free. */
export async function portTakenByOther(dir: string, address?: ClusterAddress): Promise<number | null> {
  const port = address?.port ?? recordedPort(dir)
  return await freePort(port).then(
    () => null,
    () => port,
  )
}

/** Resolves with the previous port if it is free, so that existing URLs stay valid; otherwise with a new one. Records it. */
export async function preferredPort(dir: string): Promise<number> {
  const port = await freePort(recordedPort(dir)).catch(() => freePort(0))
  takePort(dir, port)
  return port
}

/** Records the port of a cluster that is about to start. */
export function takePort(dir: string, port: number): void {
  // A full disk must not destroy the record.
  if (port === recordedPort(dir)) return
  rmSync(portFile(dir), { force: true })
  writeFileSync(portFile(dir), String(port), { mode: 0o600 })
}

/** Returns the previous port of the cluster, or that of `address` if it never had one. */
export const nextPort = (dir: string, address: ClusterAddress): number => recordedPort(dir) || address.port

/** Lowest port that the system assigns to programs which do not choose one. */
const firstAssignedPort = () =>
  Number(nullIfFailed(() => readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))?.split('\t')[0] ?? 0)

/** Resolves with a free port for a later start: the system does not assign it to another program in the meantime. */
async function portForLater(): Promise<number> {
  const [low, high] = [20_000, 30_000]
  for (let attempt = 0; attempt < 20 && firstAssignedPort() >= high; attempt++) {
    const port = await freePort(randomInt(low, high)).catch(() => null)
    if (port !== null) return port
  }
  return await freePort(0)
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

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statfsSync } from 'node:fs'
import { PLAIN_ENV } from '../sandbox.ts'
import type { OpenDisk } from './disks.ts'

/** The process that keeps a mount namespace in existence. */
export type NamespaceHolder = { pid: number; end(): Promise<void> }

/**
 * A command that reports that the mounts exist, then waits until the server closes its end of the pipe, which also happens when the
 * server is killed.
 */
const HOLD = ['/bin/sh', '-c', 'echo ready; read -r end']

/**
 * Keeps the mount namespace that `mountPrefix` creates until `end` is called or this process ends.
 * @throws when the namespace cannot be created
 */
export async function holdNamespace(mountPrefix: string[]): Promise<NamespaceHolder> {
  const [program = '', ...args] = [...mountPrefix, ...HOLD]
  const child = spawn(program, args, { cwd: '/', env: PLAIN_ENV, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const exited = once(child, 'exit').catch(() => undefined)
  // The process may have ended before the pipe is closed.
  child.stdin.on('error', () => undefined)
  await waitUntilReady(child)
  return {
    pid: child.pid ?? 0,
    async end() {
      child.stdin.end()
      await exited
    },
  }
}

async function waitUntilReady(child: ChildProcess): Promise<void> {
  const errors: Buffer[] = []
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk))
  const isReady = await new Promise((resolve) => {
    child.stdout?.once('data', () => resolve(true))
    child.once('close', () => resolve(false))
    child.once('error', () => resolve(false))
  })
  if (!isReady) throw new Error(`The disk cannot be mounted: ${Buffer.concat(errors).toString('utf8').trim()}`)
}

/** Returns a command prefix that joins the namespace. */
export const joinNamespace = ({ pid }: NamespaceHolder): string[] => ['nsenter', `--mount=/proc/${pid}/ns/mnt`, '--']

/** `isFull`: see `DiskLimits`, with the path at which this process sees the root of the namespace. */
export function openDisk(
  holder: NamespaceHolder,
  parts: Pick<OpenDisk, 'kind' | 'attach'> & { isFull: (root: string) => Promise<boolean | null> },
): OpenDisk {
  const root = `/proc/${holder.pid}/root`
  return {
    kind: parts.kind,
    fromServer: (path) => `${root}${path}`,
    inNamespace: (text) => text.replaceAll(root, ''),
    commandPrefix: joinNamespace(holder),
    attach: parts.attach,
    isFull: async () => (await parts.isFull(root)) ?? false,
    close: () => holder.end(),
  }
}

/** Below this share of free space or of free files, a disk counts as full: ext4 uses about 1 % itself. */
export const FULL_SHARE = 0.02
/** Below this free space, a disk counts as full: a write that needs more space than this fails as a whole. */
export const FULL_BYTES = 2 * 1024 * 1024

/** Returns null if the namespace no longer exists, or the file system is larger than `maxBytes`. */
export function isMountFull(dir: string, maxBytes = Infinity): boolean | null {
  try {
    const { blocks, bavail, bsize, files, ffree } = statfsSync(dir)
    if (blocks * bsize > maxBytes) return null
    return bavail * bsize < Math.max(blocks * bsize * FULL_SHARE, FULL_BYTES) || ffree < files * FULL_SHARE
  } catch {
    return null
  }
}

/**
 * Returns whether the disk mounted on `dir` in the mount namespace of the process `pid` is full; null if no disk is mounted there,
 * or the process has ended. `bytes`: the size of the disk, by which it is distinguished from the disk of the host.
 */
export const isDiskFull = (pid: number, dir: string, bytes: number): boolean | null =>
  isMountFull(`/proc/${pid}/root${dir}`, bytes)

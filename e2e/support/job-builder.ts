import { type BuildRequest, type Builder, type Image, openJobBuilder } from '@shoal/runtime'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { create } from 'tar'
import { startConnectProxy } from './connect-proxy.ts'
import { kubectl } from './kubernetes.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS'] ?? ''
const registry = process.env['SHOAL_TEST_REGISTRY']

export type JobBuilder = {
  builder: Builder
  /** The namespace of the tenant, in which builds run. */
  namespace: string
  /** Builds a project: the path of its folder, or the contents of its files by name. */
  build: (source: string | Record<string, string>, overrides?: Partial<BuildRequest>) => Promise<BuildOutcome>
  end: () => Promise<void>
}

/** `image` null: the build failed with `error`. */
export type BuildOutcome = { image: Image | null; error: Error | null; log: string[] }

export const defaultLimits = { memoryBytes: 512 * 2 ** 20, cpuCores: 1, timeMs: 900_000, diskBytes: 2 ** 30 }

/** Opens a builder whose builds run in the test cluster, for a new installation and tenant. `quota`: the limits of the tenant's ResourceQuota. `targets`: further addresses that builds may reach. */
export async function startJobBuilder(
  quota: Record<string, string> = { pods: '10' },
  targets: { host: string; port: number }[] = [],
): Promise<JobBuilder> {
  const folder = mkdtempSync(join(tmpdir(), 'job-builder-'))
  chmodSync(folder, 0o711)
  const toolchain = process.env['SHOAL_TEST_TOOLCHAIN']
  if (toolchain) execFileSync('cp', ['-al', toolchain, join(folder, 'toolchain')])
  const proxy = await startConnectProxy(host)
  const installation = `b${randomBytes(4).toString('hex')}`
  const env = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const builder = await openJobBuilder({
    stateDir: folder,
    maxConcurrentBuilds: 2,
    maxCacheBytes: 1e9,
    registry: { registry: `http://${registry}/${installation}`, authFile: null, baseImage: null },
    env: { ...Object.fromEntries(env), npm_config_https_proxy: proxy.url },
    log: () => undefined,
    installation,
    kubeconfig: process.env['SHOAL_TEST_KUBECONFIG'] ?? null,
    quota,
    cpuRequestRatio: 0.1,
    runtimeClass: null,
    containerDiskBytes: 0,
    ingressFrom: [],
    egressTo: [],
    registryAuth: null,
    targets,
    listen: null,
  })
  const namespace = `shoal-${installation}-o1`
  return {
    builder,
    namespace,
    async build(source, overrides = {}) {
      const key = randomBytes(4).toString('hex')
      const cwd = typeof source === 'string' ? source : writeFiles(join(folder, key), source)
      const archive = () =>
        Readable.from(create({ gzip: true, cwd, portable: true, filter: isSource }, ['.']) as AsyncIterable<Buffer>)
      const limits = { totalBytes: 1e8, files: 10_000, ratio: 100 }
      await builder.unpack({ key, archive, manifestPath: 'squid.yaml', limits })
      const log: string[] = []
      const request: BuildRequest = {
        key,
        tenant: '1',
        nodeVersion: '20',
        packageManager: 'auto',
        installCommand: null,
        buildCommand: null,
        limits: defaultLimits,
        log: (_severity, message) => void log.push(message),
        signal: new AbortController().signal,
        ...overrides,
      }
      return await builder.build(request).then(
        (image) => ({ image, error: null, log }),
        (error: unknown) => ({ image: null, error: error as Error, log }),
      )
    },
    async end() {
      proxy.close()
      await kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--wait=false'])
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

const isSource = (path: string): boolean => !/^\.?\/?(node_modules|lib|builds)(\/|$)/.test(path)

function writeFiles(dir: string, files: Record<string, string>): string {
  mkdirSync(dir)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content)
  return dir
}

/** Returns the contents of the files of a squid without dependencies, by name. `build`: its build script. `more`: further files. */
export const bareSource = (build: string, more: Record<string, string> = {}): Record<string, string> => {
  const packageJson = { name: 'bare', version: '1.0.0', private: true, scripts: { build } }
  const lockfile = { name: 'bare', version: '1.0.0', lockfileVersion: 3, requires: true, packages: { '': packageJson } }
  return {
    'package.json': JSON.stringify(packageJson),
    'package-lock.json': JSON.stringify(lockfile),
    'squid.yaml':
      'manifest_version: subsquid.io/v0.1\nname: bare\nversion: 1\nbuild:\ndeploy:\n  processor:\n    cmd: [node, x]\n',
    'id.txt': randomBytes(8).toString('hex'),
    ...more,
  }
}

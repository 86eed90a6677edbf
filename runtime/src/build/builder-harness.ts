import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuildRequest, Builder, Image, Unpacked } from '../builder.ts'
import { endIsolatedPrograms } from '../process/isolated-program.ts'
import { removeCgroupBase } from '../process/cgroup.ts'
import { type Host, type HostOptions, prepareHost } from '../process/host.ts'
import { recordIsolation } from '../process/host-harness.ts'
import { archiveOf } from './archive-harness.ts'
import { BUILD_NAME_PREFIX } from './build-step.ts'
import { createBuilder } from './create-builder.ts'
import { hostBackend } from './host-backend.ts'
import { type NpmConfig, readNpmConfig } from './npm-config.ts'
import { type Toolchain, ensureToolchain } from './toolchain.ts'

/**
 * `npm test` provides a complete toolchain. Otherwise, all test runs share one in the temporary folder; its entries are
 * content-addressed.
 */
const TOOLCHAIN_DIR =
  process.env['SHOAL_TEST_TOOLCHAIN'] ?? join(tmpdir(), `shoal-test-toolchain-${process.getuid?.() ?? 0}`)

const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
const npm = { command: ['npm'], env }

/** The toolchain of all tests, installed on first use. */
export const testToolchain = (): Promise<Toolchain> =>
  ensureToolchain({ dir: TOOLCHAIN_DIR, npm, log: () => undefined })

export type Files = Record<string, string>

export type BuilderHarness = {
  builder: Builder
  host: Host
  toolchain: Toolchain
  toolchainDir: string
  npmConfig: NpmConfig
  stateDir: string
  imagesDir: string
  /** Unpacks an archive of the files under `key`. */
  unpack(files: Files, key?: string): Promise<Unpacked>
  /** Unpacks an archive of the files and builds it. */
  build(files: Files, overrides?: Partial<BuildRequest>): Promise<{ image: Image; log: string[] }>
  /** Like `build`, for builds that must fail. Resolves with the error. */
  fail(files: Files, overrides?: Partial<BuildRequest>): Promise<{ error: unknown; log: string[] }>
  /** Reads a file of an image's app. */
  read(image: Image, path: string): string
  /** Lists the names in a folder of an image's app, without hidden ones. */
  list(image: Image, path: string): string[]
  /** Replaces `builder` with a new one that has the same directories, as after a restart of the server. */
  reopen(changes?: Partial<NpmConfig>): Promise<void>
  dispose(): Promise<void>
}

export const LIMITS = { memoryBytes: 1024 * 1024 * 1024, cpuCores: 2, timeMs: 60_000, diskBytes: 2 ** 31 }

let treeCount = 0

export async function openBuilderHarness(options: Omit<HostOptions, 'stateDir'> = {}): Promise<BuilderHarness> {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-builder-'))
  chmodSync(stateDir, 0o711)
  const imagesDir = join(stateDir, 'images')
  const host = await prepareHost({ stateDir, ...options })
  recordIsolation(host)
  const [toolchain, npmConfig] = await Promise.all([testToolchain(), readNpmConfig(npm)])
  const open = (changes: Partial<NpmConfig> = {}) =>
    createBuilder({
      dir: join(stateDir, 'builds'),
      imagesDir,
      backend: hostBackend(host),
      toolchain,
      npmConfig: { ...npmConfig, ...changes },
      concurrency: 2,
      maxCacheBytes: 1e9,
      removeAfterMs: 0,
    })
  const harness: BuilderHarness = {
    builder: await open(),
    host,
    toolchain,
    toolchainDir: TOOLCHAIN_DIR,
    npmConfig,
    stateDir,
    imagesDir,
    unpack: (files, key = `tree-${(treeCount += 1)}`) =>
      harness.builder.unpack({
        key,
        archive: archiveOf(
          Object.entries({ 'squid.yaml': 'name: x', ...files }).map(([path, content]) => ({ path, content })),
        ),
        manifestPath: 'squid.yaml',
        limits: { totalBytes: 50e6, files: 1000, ratio: 100 },
      }),
    async build(files, overrides) {
      const log: string[] = []
      const { key } = await harness.unpack(files)
      return { image: await harness.builder.build(buildRequest(key, log, overrides)), log }
    },
    async fail(files, overrides) {
      const log: string[] = []
      const { key } = await harness.unpack(files)
      const error: unknown = await harness.builder
        .build(buildRequest(key, log, overrides))
        .catch((reason: unknown) => reason)
      if (!(error instanceof Error)) throw new Error('The build did not fail')
      return { error, log }
    },
    read: ({ image }, path) => readFileSync(join(imagesDir, image, 'app', path), 'utf8'),
    list: ({ image }, path) => readdirSync(join(imagesDir, image, 'app', path)).filter((name) => !name.startsWith('.')),
    async reopen(changes) {
      harness.builder = await open(changes)
    },
    async dispose() {
      await endIsolatedPrograms(host, BUILD_NAME_PREFIX)
      await host.disks.close()
      if (host.cgroups) await removeCgroupBase(host.cgroups)
      rmSync(stateDir, { recursive: true, force: true, maxRetries: 10 })
    },
  }
  return harness
}

export function buildRequest(key: string, log: string[], overrides: Partial<BuildRequest> = {}): BuildRequest {
  return {
    key,
    tenant: 'acme',
    nodeVersion: '20',
    packageManager: 'auto',
    installCommand: null,
    buildCommand: null,
    limits: LIMITS,
    log: (_, message) => log.push(message),
    signal: new AbortController().signal,
    ...overrides,
  }
}

const MS = 'sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA=='
const WRAPPY = 'sha512-l4Sp/DRseor9wL6EvV2+TuQn63dMkPjZ/sp9XkghTEbV9KlPS1xUsZ3u7/IQO4wxtcFB4bgpQPRcR3QCvezPcQ=='

export const PACKAGE_JSON = {
  name: 'tiny',
  version: '1.0.0',
  private: true,
  scripts: { build: 'node build.js' },
  dependencies: { ms: '2.1.3' },
  devDependencies: { wrappy: '1.0.2' },
}

/** A squid with one dependency and one development dependency, whose build writes `lib/main.js`. */
export const TINY: Files = {
  'package.json': JSON.stringify(PACKAGE_JSON),
  'build.js': `
    const { mkdirSync, writeFileSync } = require('node:fs')
    mkdirSync('lib', { recursive: true })
    writeFileSync('lib/main.js', JSON.stringify([process.version, typeof require('wrappy'), require('ms')('1s')]))
    console.log('\\x1b[32mbuilt\\x1b[0m')`,
}

/** Lockfiles without registry URLs, so that packages come from the configured registry. */
export const LOCKFILES = {
  npm: {
    'package-lock.json': JSON.stringify({
      name: 'tiny',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'tiny', version: '1.0.0', dependencies: { ms: '2.1.3' }, devDependencies: { wrappy: '1.0.2' } },
        'node_modules/ms': { version: '2.1.3', integrity: MS },
        'node_modules/wrappy': { version: '1.0.2', integrity: WRAPPY, dev: true },
      },
    }),
  },
  pnpm: {
    'pnpm-lock.yaml': `lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

importers:

  .:
    dependencies:
      ms:
        specifier: 2.1.3
        version: 2.1.3
    devDependencies:
      wrappy:
        specifier: 1.0.2
        version: 1.0.2

packages:

  ms@2.1.3:
    resolution: {integrity: ${MS}}

  wrappy@1.0.2:
    resolution: {integrity: ${WRAPPY}}

snapshots:

  ms@2.1.3: {}

  wrappy@1.0.2: {}
`,
  },
  'yarn classic': {
    'yarn.lock': `# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.
# yarn lockfile v1


ms@2.1.3:
  version "2.1.3"
  integrity ${MS}

wrappy@1.0.2:
  version "1.0.2"
  integrity ${WRAPPY}
`,
  },
  'yarn berry': {
    'yarn.lock': `# This file is generated by running "yarn install" inside your project.
# Manual changes might be lost - proceed with caution!

__metadata:
  version: 8
  cacheKey: 10c0

"ms@npm:2.1.3":
  version: 2.1.3
  resolution: "ms@npm:2.1.3"
  checksum: 10c0/d924b57e7312b3b63ad21fc5b3dc0af5e78d61a1fc7cfb5457edaf26326bf62be5307cc87ffb6862ef1c2b33b0233cdb5d4f01c4c958cc0d660948b65a287a48
  languageName: node
  linkType: hard

"tiny@workspace:.":
  version: 0.0.0-use.local
  resolution: "tiny@workspace:."
  dependencies:
    ms: "npm:2.1.3"
    wrappy: "npm:1.0.2"
  languageName: unknown
  linkType: soft

"wrappy@npm:1.0.2":
  version: 1.0.2
  resolution: "wrappy@npm:1.0.2"
  checksum: 10c0/56fece1a4018c6a6c8e28fbc88c87e0fbf4ea8fd64fc6c63b18f4acc4bd13e0ad2515189786dd2c30d3eec9663d70f4ecf699330002f8ccb547e4a18231fc9f0
  languageName: node
  linkType: hard
`,
  },
} satisfies Record<string, Files>

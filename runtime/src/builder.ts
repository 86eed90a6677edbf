import type { Readable } from 'node:stream'

/** Where builds happen. Like the driver it knows no orgs and no database of ours. */
export interface Builder {
  /**
   * Unpacks an untrusted `.tar.gz` safely (no path escape, no absolute or escaping links, no devices, no bombs) and reads
   * what the engine needs to decide. Twice is once: the same `key` gives a fresh, complete tree.
   * @throws BuildFailure with kind REQUIRED_SOURCE_FILE_MISSED or REQUIRED_SOURCE_FILE_INVALID
   */
  unpack(request: UnpackRequest): Promise<Unpacked>

  /**
   * Installs, builds and stores an image; the same content for the same tenant answers the stored image without work.
   * @throws BuildFailure
   */
  build(request: BuildRequest): Promise<Image>

  /** All that are stored, finished ones only. `storedAtMs` is real time. */
  listImages(): Promise<StoredImage[]>

  /** The image is gone afterwards; gone is fine. */
  removeImage(image: string): Promise<void>

  /** The tree of `key` is gone afterwards; gone is fine. */
  removeTree(key: string): Promise<void>

  /** Ends what an earlier process left behind (half-built trees, build programs still running). */
  recover(): Promise<void>
}

export type UnpackRequest = {
  /** Names the tree; one word. */
  key: string
  archive: () => Readable
  /** The user's `-m` text: may be `./x.yaml`, nested, or an absolute path on the user's machine; resolved by suffix. */
  manifestPath: string
  limits: UnpackLimits
}

export type UnpackLimits = { totalBytes: number; files: number; ratio: number }

export type Unpacked = {
  key: string
  /** sha256 over the sorted tree: paths, modes and contents. */
  digest: string
  manifestRaw: string
  manifestPath: string
  packageJson: Record<string, unknown> | null
  /** Hosts that the code names where it says where a processor gets its data; not all that it may use. */
  sourceHosts: string[]
  /** Sentences for the deployment's log, such as that the packed `.env` was left out. */
  notes: string[]
  files: number
  bytes: number
}

export type BuildRequest = {
  key: string
  /** Caches are never shared between two tenants. */
  tenant: string
  nodeVersion: string
  packageManager: 'auto' | 'npm' | 'pnpm' | 'yarn'
  /** Of `build.install.cmd` and `build.cmd` of the manifest; null: the default. */
  installCommand: string[] | null
  buildCommand: string[] | null
  limits: BuildLimits
  /** Called for each line of progress and each line of the build's own output. */
  log: (severity: 'info' | 'warn' | 'error', message: string) => void
  /** Called when the build leaves the queue of the builder and starts. Not called when a stored image is reused. */
  onStart?: () => Promise<void>
  signal: AbortSignal
}

export type BuildLimits = { memoryBytes: number; cpuCores: number; timeMs: number }

export type Image = {
  /** Opaque; goes into `Workload.image`. */
  image: string
  bytes: number
  /** True when it was there already and nothing was run. */
  reused: boolean
}

export type StoredImage = { image: string; storedAtMs: number }

/** UNEXPECTED: not the user's fault (registry unreachable, disk full), said in words meant for the user. */
export const buildFailureKinds = [
  'UNEXPECTED',
  'REQUIREMENTS',
  'REQUIRED_SOURCE_FILE_MISSED',
  'REQUIRED_SOURCE_FILE_INVALID',
  'SOURCE_FILES_BUILD_FAILED',
] as const
export type BuildFailureKind = (typeof buildFailureKinds)[number]

/** `message` says what failed and what to do, then repeats the last lines of the output, which are in the log already. */
export class BuildFailure extends Error {
  override name = 'BuildFailure'
  readonly kind: BuildFailureKind
  constructor(kind: BuildFailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

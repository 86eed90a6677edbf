import type { Readable } from 'node:stream'
import type { FileList } from './build/file-list.ts'

/** Builds images. Like the driver, it is independent of organizations and of the server's database. */
export interface Builder {
  /**
   * Unpacks an untrusted `.tar.gz` safely (no path escape, no absolute or escaping links, no devices, no decompression bombs) and returns
   * what the deploy engine needs. Idempotent: unpacking the same `key` again replaces the tree.
   * @throws BuildFailure with kind REQUIRED_SOURCE_FILE_MISSED or REQUIRED_SOURCE_FILE_INVALID
   */
  unpack(request: UnpackRequest): Promise<Unpacked>

  /**
   * Installs the dependencies, runs the build and stores the image. Returns the stored image if this tenant has already built the
   * same content.
   * @throws BuildFailure
   */
  build(request: BuildRequest): Promise<Image>

  /** Lists complete images. `storedAtMs` is wall-clock time, not the injected clock's. */
  listImages(): Promise<StoredImage[]>

  /** Deletes an image. Idempotent. */
  removeImage(image: string): Promise<void>

  /** Deletes the tree of `key`. Idempotent. */
  removeTree(key: string): Promise<void>

  /** Removes leftovers of an earlier process (incomplete trees, running build programs). */
  recover(): Promise<void>
}

export type UnpackRequest = {
  /** Identifies the tree; a single word of letters, digits, `.`, `_` and `-`. */
  key: string
  archive: () => Readable
  /** The user's `-m` argument: `./x.yaml`, a nested path, or an absolute path on the user's machine, which is resolved by its suffix. */
  manifestPath: string
  limits: UnpackLimits
}

/** `ratio`: maximum ratio of the unpacked size to the archive’s size. */
export type UnpackLimits = { totalBytes: number; files: number; ratio: number }

export type Unpacked = {
  key: string
  /** sha256 over the sorted tree: paths, modes and contents. */
  digest: string
  manifestRaw: string
  manifestPath: string
  packageJson: Record<string, unknown> | null
  /** Hosts of the data sources configured in the code; possibly incomplete. */
  sourceHosts: string[]
  /** Sentences for the deployment's log, for example that a packed `.env` was ignored. */
  notes: string[]
  files: number
  bytes: number
  /** The files of the archive, for a comparison with another deployment; limited in size. */
  fileList: FileList
}

export type BuildRequest = {
  /** The `key` of the `UnpackRequest` whose tree is built. */
  key: string
  /** Caches are never shared between tenants. */
  tenant: string
  nodeVersion: string
  packageManager: 'auto' | 'npm' | 'pnpm' | 'yarn'
  /** `build.install.cmd` and `build.cmd` of the manifest; null: the default commands. */
  installCommand: string[] | null
  buildCommand: string[] | null
  limits: BuildLimits
  /** Called for each progress message and each line of the build's output. */
  log: (severity: 'info' | 'warn' | 'error', message: string) => void
  /** Called when the build leaves the builder's queue and starts. Not called when a stored image is reused. */
  onStart?: () => Promise<void>
  signal: AbortSignal
}

/** `diskBytes`: for all files of the build, including downloads; 0: unlimited. */
export type BuildLimits = { memoryBytes: number; cpuCores: number; timeMs: number; diskBytes: number }

export type Image = {
  /** Opaque; the value of `Workload.image`. */
  image: string
  bytes: number
  /** True when a stored image was reused without a build. */
  reused: boolean
}

export type StoredImage = { image: string; storedAtMs: number }

/** `UNEXPECTED`: the failure is not the user's fault (registry unreachable, disk full). Its message is shown to the user like any other. */
export const buildFailureKinds = [
  'UNEXPECTED',
  'REQUIREMENTS',
  'REQUIRED_SOURCE_FILE_MISSED',
  'REQUIRED_SOURCE_FILE_INVALID',
  'SOURCE_FILES_BUILD_FAILED',
] as const
export type BuildFailureKind = (typeof buildFailureKinds)[number]

/** `message` is for the user: what failed, how to fix it, and the last lines of the output (which are also in the log). */
export class BuildFailure extends Error {
  override name = 'BuildFailure'
  readonly kind: BuildFailureKind
  constructor(kind: BuildFailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findManifest, readPackageJson } from '../build/manifest-file.ts'
import { summarizeTree } from '../build/tree.ts'
import { unpackArchive } from '../build/unpack-archive.ts'
import {
  type BuildFailureKind,
  type BuildRequest,
  type Builder,
  BuildFailure,
  buildFailureKinds,
  type Image,
  type StoredImage,
  type UnpackRequest,
  type Unpacked,
} from '../builder.ts'
import { type ShapeCheck, fields, lines, number, oneOf, text } from './shape.ts'

/** A simulated build, configured by the field `sim` of a squid's package.json. */
export type SimBuild = {
  takesMs?: number
  /** The build ends only when this file no longer exists. */
  whileExists?: string
  /** Lines of the build's output. */
  prints?: string[]
  fails?: { kind: BuildFailureKind; message: string }
}

/** Unpacks archives as the real builder does, and simulates the build without installing or running anything. */
export function createSimBuilder(): SimBuilder {
  return new SimBuilder()
}

export class SimBuilder implements Builder {
  readonly #trees = new Map<string, Unpacked>()
  /** Image ids with the time when each was stored. */
  readonly #images = new Map<string, number>()

  /** @throws BuildFailure */
  async unpack({ key, archive, manifestPath, limits }: UnpackRequest): Promise<Unpacked> {
    const root = await mkdtemp(join(tmpdir(), 'shoal-sim-'))
    try {
      const notes = await unpackArchive(archive(), root, limits)
      const manifest = await findManifest(root, manifestPath)
      const packageJson = await readPackageJson(root)
      const summary = await summarizeTree(root)
      const manifestFields = { manifestPath: manifest.path, manifestRaw: manifest.raw }
      const unpacked = { key, ...manifestFields, packageJson, notes, ...summary }
      this.#trees.set(key, unpacked)
      return unpacked
    } finally {
      await rm(root, { recursive: true })
    }
  }

  /** @throws BuildFailure */
  async build({ key, tenant, nodeVersion, log, onStart, signal }: BuildRequest): Promise<Image> {
    const tree = this.#trees.get(key)
    if (!tree) throw new Error(`${key} was not unpacked`)
    const image = createHash('sha256').update(`${tenant} ${nodeVersion} ${tree.digest}`).digest('hex').slice(0, 40)
    if (this.#images.has(image)) return { image, bytes: tree.bytes, reused: true }
    const { takesMs = 0, whileExists, prints = [], fails } = simBuildOf(tree)
    await onStart?.()
    log('info', 'Simulating a build: nothing is installed')
    for (const line of prints) log('info', line)
    await sleep(takesMs, undefined, { signal })
    while (whileExists !== undefined && existsSync(whileExists)) await sleep(50, undefined, { signal })
    if (fails) throw new BuildFailure(fails.kind, fails.message)
    this.#images.set(image, Date.now())
    return { image, bytes: tree.bytes, reused: false }
  }

  async listImages(): Promise<StoredImage[]> {
    return [...this.#images].map(([image, storedAtMs]) => ({ image, storedAtMs }))
  }

  hasImage(image: string): boolean {
    return this.#images.has(image)
  }

  async removeImage(image: string): Promise<void> {
    this.#images.delete(image)
  }

  async removeTree(key: string): Promise<void> {
    this.#trees.delete(key)
  }

  async recover(): Promise<void> {
    // Simulated builds do not outlive the process.
  }
}

const buildCheck = fields({}, {
  takesMs: number,
  whileExists: text,
  prints: lines,
  fails: fields({ kind: oneOf(...buildFailureKinds), message: text }),
} satisfies Record<keyof SimBuild, ShapeCheck>)

/** @throws BuildFailure for an invalid simulation */
function simBuildOf({ packageJson }: Unpacked): SimBuild {
  const build = packageJson?.['sim'] ?? {}
  const problem = buildCheck(build, 'sim')
  if (problem) throw new BuildFailure('REQUIRED_SOURCE_FILE_INVALID', `package.json cannot be simulated: ${problem}`)
  return build
}

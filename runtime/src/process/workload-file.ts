import { rmSync } from 'node:fs'
import type { ContainerName, ContainerSpec, Workload, WorkloadId } from '../driver.ts'
import { STOP_GRACE_MS, readRecordFile, writeRecordFile } from './container-record.ts'

/** Encrypts environments of containers, which contain secrets of users. A value can only be opened with the context it was sealed with. */
export type EnvironmentSealer = {
  seal: (plain: string, context: string) => string
  /** @throws Error if the key is missing, or the value was changed or moved */
  open: (sealed: string, context: string) => string
  /** True if `seal` would still use the same key. */
  isCurrent: (sealed: string) => boolean
}

/** The content of `workload.json`: a workload with its environments sealed. Directories in other processes read only names and ports. */
type StoredWorkload = Omit<Workload, 'containers'> & {
  containers: Omit<ContainerSpec, 'env'>[]
  /** JSON: the environment of each container by its name. */
  sealedEnvironments: string
}

/** The format of earlier releases, whose environments were not sealed. The oldest ones did not store grace periods. */
type PlainWorkload = Omit<Workload, 'containers'> & {
  containers: (Omit<ContainerSpec, 'stopGraceMs'> & Partial<Pick<ContainerSpec, 'stopGraceMs'>>)[]
}

/** Interval of checks whether the key was replaced. */
const CHECK_KEY_MS = 1000

const noSealer: EnvironmentSealer = { seal: (plain) => plain, open: (sealed) => sealed, isCurrent: () => true }

const contextOf = (id: WorkloadId) => `containers of ${id}`

/** Reads and writes the files with the desired states of workloads. */
export class WorkloadFiles {
  readonly #sealer: EnvironmentSealer
  /** The workloads that were read or written, by file. */
  readonly #known = new Map<string, { workload: Workload; sealed: string }>()

  /** Number of files whose environments could not be opened. */
  #unopened = 0
  #timer: NodeJS.Timeout | null = null

  constructor(sealer: EnvironmentSealer = noSealer) {
    this.#sealer = sealer
  }

  /** Seals the files again whenever the key is replaced, until `close`. */
  watchKey(): void {
    this.#timer = setInterval(() => {
      try {
        this.sealAgain()
      } catch {
        // For example, the disk is full, or the keys are just being replaced. The next check tries again.
      }
    }, CHECK_KEY_MS).unref()
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer)
  }

  /** Returns warnings for the operator about files that could not be opened. */
  problems(): string[] {
    if (this.#unopened === 0) return []
    const versions = this.#unopened === 1 ? '1 running version' : `${this.#unopened} running versions`
    return [
      `The environments of ${versions} were sealed with a key that this server no longer has. Their programs are started again.`,
    ]
  }

  /** Replaces the file atomically. */
  write(file: string, workload: Workload): void {
    const { containers, ...rest } = workload
    const environments = Object.fromEntries(containers.map(({ name, env }) => [name, env]))
    const sealed = this.#sealer.seal(JSON.stringify(environments), contextOf(workload.id))
    const stored: StoredWorkload = {
      ...rest,
      containers: containers.map(withoutEnvironment),
      sealedEnvironments: sealed,
    }
    writeRecordFile(file, stored)
    this.#known.set(file, { workload, sealed })
  }

  /**
   * Reads a workload; null when there is none, or its environments cannot be opened because the server no longer has their key. The caller then
   * removes the workload, and the reconcile loop of the server applies it again. Seals the file again if it is not sealed with the
   * current key, or is from an earlier release.
   */
  read(file: string): Workload | null {
    const stored = readRecordFile(file) as StoredWorkload | PlainWorkload | null
    if (stored === null) return null
    const sealed = 'sealedEnvironments' in stored ? stored.sealedEnvironments : null
    const workload = 'sealedEnvironments' in stored ? this.#open(stored) : withGracePeriods(stored)
    if (workload === null) return null
    if (sealed !== null && this.#sealer.isCurrent(sealed)) this.#known.set(file, { workload, sealed })
    else this.write(file, workload)
    return workload
  }

  delete(file: string): void {
    this.#known.delete(file)
    rmSync(file, { force: true })
  }

  /** Seals each file again whose key is no longer the current one. */
  sealAgain(): void {
    for (const [file, { workload, sealed }] of this.#known)
      if (!this.#sealer.isCurrent(sealed)) this.write(file, workload)
  }

  #open({ sealedEnvironments, ...stored }: StoredWorkload): Workload | null {
    let text: string
    try {
      text = this.#sealer.open(sealedEnvironments, contextOf(stored.id))
    } catch {
      this.#unopened++
      return null
    }
    const environments: Record<ContainerName, Record<string, string>> = JSON.parse(text)
    return { ...stored, containers: stored.containers.map((spec) => ({ ...spec, env: environments[spec.name] ?? {} })) }
  }
}

function withoutEnvironment(spec: ContainerSpec) {
  const { env: _, ...others } = spec
  return others
}

const withGracePeriods = (stored: PlainWorkload): Workload => ({
  ...stored,
  containers: stored.containers.map((spec) => ({ ...spec, stopGraceMs: spec.stopGraceMs ?? STOP_GRACE_MS })),
})

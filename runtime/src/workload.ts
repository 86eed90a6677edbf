/** The desired state of one generation of a version: its containers, and what each of them runs. */

/** Identifies one generation of a version. Two generations may run side by side during an update. */
export type WorkloadId = string

export type ContainerName = string

/** Resource limits of a container. CPU in cores, memory in bytes. */
export type Resources = { cpuCores: number; memoryBytes: number }

/**
 * `never`: runs once (init). `on-failure`: finished after exit code 0, otherwise restarted with backoff (processors, which may have
 * a last block). `always`: restarted after any exit code (api).
 */
export type Restart = 'never' | 'on-failure' | 'always'

/**
 * A program that the operator provides, which is not in the workload's image: an OCI image with its own entrypoint (`kubernetes`), or an
 * executable file of the host (`process`), which listens on the port in the variable `portVariable`. `sim` accepts both.
 */
export type ProvidedProgram = { image: string } | { file: string; portVariable: string }

export type ContainerSpec = {
  /** `init`, `api`, `api-2` (a further replica), `hasura`, `hasura-2` or the processor's own name. */
  name: ContainerName
  /** The arguments of `provided`, if there is one. */
  command: string[]
  /** Missing: the program is in the workload's image. */
  provided?: ProvidedProgram
  /** The whole environment; the driver adds only what it needs to start the command (PATH, HOME, NODE_OPTIONS). */
  env: Record<string, string>
  resources: Resources
  restart: Restart
  /** The ports the program listens on; reachable only through `Directory.endpoint`. */
  ports: number[]
  /** Milliseconds from SIGTERM to SIGKILL when it is stopped. Changing only this does not replace a running container. */
  stopGraceMs: number
}

export type Workload = {
  id: WorkloadId
  /** Opaque key of the owner: files, uids and caches are never shared between tenants. */
  tenant: string
  /** Opaque key of the version, the same for all its generations. */
  version: string
  /** `Image.image` as returned by `Builder.build`. */
  image: string
  containers: ContainerSpec[]
  /** How many connections its programs may have at a time to each target with `isLimited`; missing: any number. */
  limitedConnections?: number
}

export {
  BuildFailure,
  type Builder,
  type BuildFailureKind,
  type BuildLimits,
  type BuildRequest,
  type Image,
  type Unpacked,
  type UnpackLimits,
  type UnpackRequest,
} from './builder.ts'
export { drivers } from './driver.ts'
export type {
  ContainerName,
  ContainerSpec,
  ContainerState,
  Directory,
  DriverName,
  RunOutcome,
  PortEndpoint,
  LastRun,
  LogAdmission,
  LogBatch,
  LogCursor,
  LogDrop,
  LogLoss,
  LogLine,
  Observation,
  ProvidedProgram,
  Resources,
  Run,
  Runtime,
  HostLimitation,
  ContainerUsage,
  Workload,
  WorkloadId,
} from './driver.ts'
export {
  checkBackupContent,
  readBackupContent,
  readBackupManifest,
  writeBackupFile,
  type ContentChecksum,
} from './backup/backup-file.ts'
export { clusterEntries, walEntries } from './backup/cluster-entries.ts'
export { bufferEntry, fileEntry, treeEntries } from './backup/read-entries.ts'
export { relocateImages } from './backup/relocate-images.ts'
export { stateEntries, type StateSummary } from './backup/state-entries.ts'
export type { TarEntry } from './backup/tar-stream.ts'
export { unpackBackup } from './backup/unpack-backup.ts'
export { portTakenByOther } from './postgres/create-cluster.ts'
export {
  describeStopped,
  PostgresStartError,
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from './postgres/embedded-postgres.ts'
export { shareCpuAmongDatabases } from './postgres/database-cgroups.ts'
export { watchMemory } from './postgres/memory-watch.ts'
export { tenantLimits } from './postgres/postgres-limits.ts'
export { markSeparate, needsSplit, splitCluster } from './postgres/split-cluster.ts'
export {
  watchEmbeddedPostgres,
  PostgresCrashLoopError,
  type PostgresWatchOptions,
} from './postgres/watched-postgres.ts'
export { embeddedPostgresMajor, runningPort } from './postgres/postgres-program.ts'
export { recoverCluster } from './postgres/restored-cluster.ts'
export { tryFileLock, waitForFileLock, type FileLock } from './file-lock.ts'
export { keepColours } from './terminal-colours.ts'
export { isSquidAddress } from './process/network/rules.ts'
export { parseTargets } from './process/network/addresses.ts'
export type { NetworkTarget, NetworkTargets } from './process/network/network.ts'
export { findProcess, isInSandbox, isSameProcess } from './process/processes.ts'
export { type RuntimeClock, type Timer, systemRuntimeClock } from './clock.ts'
export { ConcurrencyLimit, mapConcurrently, Semaphore, SharedRun } from './concurrency.ts'
export { FairSlots } from './fair-slots.ts'
export { ManualClock } from './manual-clock.ts'
export { ClusterRefusal, ClusterUnreachable } from './kubernetes/client/kube-error.ts'
export { createKubernetesDirectory } from './kubernetes/kubernetes-directory.ts'
export type { KubernetesOptions } from './kubernetes/kubernetes-options.ts'
export { createKubernetesRuntime } from './kubernetes/kubernetes-runtime.ts'
export { egressTargets } from './kubernetes/egress-targets.ts'
export { openClusterPostgres } from './kubernetes/postgres/cluster-postgres.ts'
export { createProcessDirectory } from './process/process-directory.ts'
export { type ProcessDriverOptions, createProcessRuntime } from './process/process-driver.ts'
export { pushStoredImages, storedImages } from './images/stored-images.ts'
export { inspectCluster, inspectHost, inspectRegistry } from './inspect.ts'
export { readHostReport, type HostReport } from './process/host-report.ts'
export { createRuntimeWithoutBuilder, openProcessRuntime, type ProcessRuntimeOptions } from './process-runtime.ts'
export type { FileList, ListedFile } from './build/file-list.ts'
export { type HostBuilderOptions, openHostBuilder } from './host-builder.ts'
export { openJobBuilder } from './kubernetes/builds/job-builder.ts'
export type { RegistrySettings } from './images/image-registry.ts'
export { isOpenToOthers, traversableDir } from './traversable-dir.ts'
export { BEHAVIOUR_VARIABLE, type SimBehaviour, type SimSync, type SimUsage } from './sim/behaviour.ts'
export { type SimBuild, type SimBuilder, createSimBuilder } from './sim/sim-builder.ts'
export { type SimRuntime, type SimRuntimeOptions, type SimHost, createSimRuntime } from './sim/sim-driver.ts'

import { join } from 'node:path'
import { endIsolatedPrograms } from './isolated-program.ts'
import { STOP_GRACE_MS, workloadsDirIn } from './container-record.ts'
import { CONTAINER_NAME_PREFIX, type HostContext, isolationName } from './container-run.ts'
import { commandLine, isInSandbox, listProcesses } from './processes.ts'
import { endPrograms } from './program-tree.ts'

/**
 * Kills programs of this installation that belong to no recorded run: isolated programs of containers that are not in `containers`, and
 * duplicates of a recorded run that another worker started. `shim`: pid of the shim of the recorded run; null without a run.
 */
export async function endUnrecordedPrograms(
  hostContext: HostContext,
  containers: { key: string; shim: number | null }[],
): Promise<void> {
  await endIsolatedPrograms(
    hostContext.host,
    CONTAINER_NAME_PREFIX,
    new Set(containers.map(({ key }) => isolationName(key))),
  )
  // No program has this mark, so the tree consists of the shim, its session and descendants, not of the programs of the recorded run.
  const mark = `${hostContext.host.label}/copy`
  for (const root of findUnrecordedShims(hostContext, new Set(containers.map(({ shim }) => shim)))) {
    await endPrograms({ mark, cgroup: null, root }, { graceMs: STOP_GRACE_MS, exceptPid: null })
  }
  hostContext.sockets.keepOnly(containers.map(({ key }) => key))
}

/** Finds the shims without a record. Excludes the children of recorded shims, which have the command line of the shim until they execute the program. */
function findUnrecordedShims({ host }: HostContext, recordedShims: Set<number | null>) {
  const dir = join(workloadsDirIn(host.stateDir), '/')
  return listProcesses().filter(
    ({ pid, parent }) =>
      !recordedShims.has(pid) &&
      !recordedShims.has(parent) &&
      commandLine(pid)[2]?.startsWith(dir) &&
      !isInSandbox(pid),
  )
}

import { join } from 'node:path'
import { endIsolatedPrograms } from './isolated-program.ts'
import { STOP_GRACE_MS, workloadsDirIn } from './container-record.ts'
import { CONTAINER_NAME_PREFIX, type HostContext, isolationName } from './container-run.ts'
import { commandLine, isInSandbox, listProcesses } from './processes.ts'
import { endPrograms } from './program-tree.ts'

/**
 * Kills programs of this state directory that do not belong to the recorded run of one of `containers`: programs without a record,
 * and second copies that another worker started. `shim`: pid of the shim of the recorded run.
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
  for (const root of findCopies(hostContext, new Set(containers.map(({ shim }) => shim)))) {
    const tree = { mark: `${hostContext.host.label}/copy`, cgroup: null, root }
    await endPrograms(tree, { graceMs: STOP_GRACE_MS, exceptPid: null })
  }
  hostContext.sockets.keepOnly(containers.map(({ key }) => key))
}

/** Finds the shims without a record. A fork of a recorded shim has its command line until it executes the program, so it is excluded. */
function findCopies({ host }: HostContext, shims: Set<number | null>) {
  const dir = join(workloadsDirIn(host.stateDir), '/')
  return listProcesses().filter(
    ({ pid, parent }) =>
      !shims.has(pid) && !shims.has(parent) && commandLine(pid)[2]?.startsWith(dir) && !isInSandbox(pid),
  )
}

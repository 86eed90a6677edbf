import { join } from 'node:path'
import { endBoxes } from './box.ts'
import { STOP_GRACE_MS, workloadsDirIn } from './container-record.ts'
import { BOX_PREFIX, type HostContext, boxName } from './container-run.ts'
import { commandLine, listProcesses } from './processes.ts'
import { endPrograms } from './program-tree.ts'

/**
 * Kills programs of this state directory that do not belong to the recorded runs of these containers: programs without a record,
 * and second copies started by another worker. `shim`: the top process of the recorded run.
 */
export async function endUnrecorded(
  hostContext: HostContext,
  containers: { key: string; shim: number | null }[],
): Promise<void> {
  await endBoxes(hostContext.host, BOX_PREFIX, new Set(containers.map(({ key }) => boxName(key))))
  for (const root of copies(hostContext, new Set(containers.map(({ shim }) => shim)))) {
    const tree = { mark: `${hostContext.host.label}/copy`, cgroup: null, root }
    await endPrograms(tree, { graceMs: STOP_GRACE_MS, spare: null })
  }
  hostContext.sockets.keepOnly(containers.map(({ key }) => key))
}

/** Shims without a record. A fork of a shim looks like a shim until it executes the program. */
function copies({ host }: HostContext, shims: Set<number | null>) {
  const dir = join(workloadsDirIn(host.stateDir), '/')
  return listProcesses().filter(
    ({ pid, parent }) => !shims.has(pid) && !shims.has(parent) && commandLine(pid)[2]?.startsWith(dir),
  )
}
